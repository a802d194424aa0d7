// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/grid/slabs.hpp"

#include "voxcycle/core/error.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace slabs_test {

TEST(Slabs, ExampleOfTheHeader) {
  Slabs const quarters{.count = 4};
  EXPECT_TRUE(quarters.cut(Grid3::cube(64)));
  EXPECT_EQ(quarters.processes(Grid3::cube(64)), 4);
  EXPECT_EQ(quarters.part_of(Grid3::cube(64)).name(), "16x64x64");
  EXPECT_EQ(quarters.part_of(Grid3::cube(64)).spacing(0), Grid3::cube(64).spacing(0));
}

TEST(Slabs, CoarseGridsAreWhole) {
  Slabs const halves{.count = 2, .above = 16};
  for (std::int64_t n : {8, 16}) {
    EXPECT_FALSE(halves.cut(Grid3::cube(n)));
    EXPECT_EQ(halves.processes(Grid3::cube(n)), 1);
    EXPECT_EQ(halves.part_of(Grid3::cube(n)), Grid3::cube(n));
  }
  EXPECT_TRUE(halves.cut({{8, 8, 32}, {0.25, 0.25, 1.0}})) << "the longest edge counts";
  EXPECT_FALSE(Slabs{}.cut(Grid3::cube(512))) << "one slab is the whole";
}

TEST(Slabs, EverySlabIsTwiceOneOfTheCoarserGrid) {
  Slabs const thirds{.count = 3, .above = 16};
  EXPECT_NO_THROW(thirds.require_fits(Grid3::cube(16))) << "it is not cut";
  EXPECT_NO_THROW(thirds.require_fits(Grid3::cube(48)));
  EXPECT_NO_THROW((Slabs{.count = 8, .above = 32}.require_fits(Grid3::cube(512))));
  auto const problem = [](Slabs const& slabs, Grid3 const& grid) -> std::string {
    try {
      slabs.require_fits(grid);
    } catch (Error const& error) {
      return error.what();
    }
    return {};
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(problem(thirds, Grid3::cube(64)), HasSubstr("64 planes along x"));
  EXPECT_THAT(problem(thirds, Grid3::cube(64)), HasSubstr("a multiple of 6"));
  // 128 planes would do, 64 do not.
  EXPECT_THAT(problem({.count = 64, .above = 32}, Grid3::cube(128)), HasSubstr("grid 64^3"));
  EXPECT_THAT(problem({.count = 64, .above = 64}, Grid3::cube(128)), "");
  EXPECT_THAT(problem({.count = 0}, Grid3::cube(64)), HasSubstr("0 of grids"));
}

}  // namespace slabs_test
}  // namespace voxcycle
