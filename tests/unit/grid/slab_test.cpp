// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/grid/slab.hpp"

#include "voxcycle/core/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace slab_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Grid3 box(std::int64_t nx) {
  return {{nx, 40, 24}, {2.0, 1.0, 1.0}};
}

TEST(Slab, EveryPlaneHasOneOwner) {
  for (std::int64_t const nx : {48, 51, 64, 97, 255, 256}) {
    for (int processes = 1; processes <= 7; ++processes) {
      std::int64_t voxels = 0, nodes = 0;
      for (int rank = 0; rank < processes; ++rank) {
        Slab const slab = slab_of(box(nx), processes, rank);
        EXPECT_EQ(slab.first() + slab.own_voxels().begin, voxels);
        EXPECT_EQ(slab.first() + slab.own_nodes().begin, nodes);
        voxels += slab.own_voxels().count;
        nodes += slab.own_nodes().count;
        EXPECT_EQ(slab.part().voxels[0], slab.behind() - slab.first());
        EXPECT_EQ(slab.part().spacing(0), box(nx).spacing(0)) << "to the last bit";
        if (!slab.part().divisible(1) || nx % 2 != 0) continue;
        EXPECT_EQ(slab.part().coarsened().spacing(0), box(nx).coarsened().spacing(0));
        EXPECT_EQ(slab.is_first() ? slab.first() : slab.first() + 4, slab.ends[rank]);
      }
      EXPECT_EQ(voxels, nx);
      EXPECT_EQ(nodes, nx + 1);
    }
  }
}

TEST(Slab, CoarserGridsAreSharedOutAlike) {
  for (std::int64_t const nx : {64, 97, 256, 511}) {
    for (int processes = 2; processes <= 6; ++processes) {
      Slab slab = slab_of(box(nx), processes, processes - 1);
      int shared = 1;
      for (;; ++shared) {
        for (int rank = 0; rank < processes; ++rank) EXPECT_EQ(slab.ends[rank] % 2, 0);
        EXPECT_GT(slab.thinnest(), slab.halo);
        Grid3 coarse = slab.whole;
        for (auto& n : coarse.voxels) n = (n + 1) / 2;
        Slab const half = slab.coarsened(coarse);
        EXPECT_EQ(half.first(), slab.first() / 2);
        EXPECT_EQ(half.part().voxels[0], (slab.part().voxels[0] + 1) / 2);
        slab = half.with_halo(4);
        if (!stays_shared(slab)) break;
      }
      bool const is_small = slab.whole.level() <= 32 || nx / (2 << shared) / processes < 5;
      EXPECT_TRUE(is_small) << nx << " on " << processes << ": " << slab.whole.name();
    }
  }
}

TEST(Slab, RefusesSlabsThatAreTooThin) {
  EXPECT_NO_THROW(slab_of(box(48), 8, 0));
  EXPECT_THAT([] { slab_of(box(48), 9, 0); },
              ThrowsMessage<Error>(HasSubstr("Take no more than 8 processes")));
}

TEST(Slabs, FineGridsAreCut) {
  Slabs const quarters{.count = 4};
  EXPECT_TRUE(quarters.cut(Grid3::cube(64)));
  EXPECT_EQ(quarters.processes(Grid3::cube(64)), 4);
  EXPECT_EQ(quarters.of(Grid3::cube(64), 1).part().name(), "24x64x64");
  EXPECT_FALSE(quarters.cut(Grid3::cube(32)));
  EXPECT_EQ(quarters.processes(Grid3::cube(32)), 1);
  EXPECT_FALSE((Slabs{.count = 8, .above = 16}.cut(Grid3::cube(32)))) << "too thin";
  EXPECT_TRUE(quarters.cut({{24, 8, 40}, {0.6, 0.2, 1.0}})) << "the longest edge counts";
  EXPECT_FALSE(Slabs{}.cut(Grid3::cube(512))) << "one slab is the whole";
}

TEST(Slabs, ThoseOfTheCoarserGridAreHalves) {
  for (int count = 2; count <= 7; ++count) {
    for (std::int64_t const nx : {48, 96, 160, 512}) {
      Slabs const slabs{.count = count, .above = 8};
      for (Grid3 grid{{nx, 64, 32}, {1.0, 1.0, 1.0}}; slabs.cut(grid); grid = grid.coarsened()) {
        if (!grid.divisible(1) || !slabs.cut(grid.coarsened())) break;
        Slab const half = slabs.of(grid, count - 1).coarsened(grid.coarsened());
        EXPECT_EQ(slabs.of(grid.coarsened(), count - 1).ends, half.ends)
            << count << " of " << grid.name();
      }
    }
  }
}

TEST(Slabs, PartsAreTheSameForAnyNumberOfProcesses) {
  for (Grid3 const& grid : {Grid3::cube(256), Grid3::cube(128), Grid3{{96, 64, 32}, {1, 1, 1}}}) {
    for (int const parts : {2, 3, 4, 6}) {
      auto const ends = Slabs{.count = parts}.of(grid, 0).ends;
      for (int count = 1; count <= parts; ++count) {
        Slabs const slabs{.count = count, .parts = parts};
        EXPECT_EQ(slabs.cut(grid), (Slabs{.count = parts}.cut(grid)));
        EXPECT_EQ(slabs.processes(grid), count);
        std::vector<std::int64_t> found{0};
        for (int rank = 0; rank < count; ++rank) {
          Slab const slab = slabs.of(grid, rank);
          EXPECT_EQ(slab.parts(), parts);
          std::int64_t next = 0;
          for (auto const& part : slab.own_parts()) {
            EXPECT_EQ(part.begin, next);
            next += part.count;
            found.push_back(slab.ends[rank] + next);
          }
          EXPECT_EQ(next, slab.own_voxels().count) << "every plane is in a part";
          auto const halves = slab.coarsened(grid.coarsened()).own_parts();
          EXPECT_EQ(halves.back().begin, slab.own_parts().back().begin / 2);
        }
        EXPECT_EQ(found, ends) << count << " of " << parts << " of " << grid.name();
      }
    }
  }
}

TEST(Slabs, RefusesGridsThatAreTooThin) {
  EXPECT_NO_THROW((Slabs{.count = 3, .above = 16}.require_fits(Grid3::cube(16)))) << "not cut";
  EXPECT_NO_THROW((Slabs{.count = 8}.require_fits(Grid3::cube(512))));
  EXPECT_THAT([] { (Slabs{.count = 7}.require_fits(Grid3::cube(40))); },
              ThrowsMessage<Error>(HasSubstr("no more than 6 processes")));
  EXPECT_THAT([] { (Slabs{.count = 0}.require_fits(Grid3::cube(64))); },
              ThrowsMessage<Error>(HasSubstr("0 of grids")));
  EXPECT_THAT([] { (Slabs{.count = 4, .parts = 2}.require_fits(Grid3::cube(64))); },
              ThrowsMessage<Error>(HasSubstr("too few for run.spatial_processes = 4")));
}

}  // namespace slab_test
}  // namespace voxcycle
