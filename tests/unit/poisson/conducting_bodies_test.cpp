// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/multigrid/conducting_bodies.hpp"

#include "voxcycle/core/random.hpp"

#include <array>
#include <map>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace conducting_bodies_test {

constexpr std::int64_t many = 1000;
constexpr double threshold = 30.0;

Boundary const ends = parse_boundary("1, 0, flux, flux, flux, flux");
Boundary const insulated = parse_boundary("flux, flux, flux, flux, flux, flux");

/// nu = 1 but for these voxels, where it is 1000.
std::vector<double> with_conductors(Grid3 const& grid,
                                    std::vector<std::array<std::int64_t, 3>> const& voxels) {
  std::vector<double> nu(static_cast<std::size_t>(grid.voxel_count()), 1.0);
  for (auto const& [x, y, z] : voxels) {
    nu[(x * grid.voxels[1] + y) * grid.voxels[2] + z] = 1000.0;
  }
  return nu;
}

using Nodes = std::set<std::int64_t>;

std::vector<Nodes> nodes_of(ConductingBodies const& bodies) {
  std::vector<Nodes> nodes(static_cast<std::size_t>(bodies.count()));
  for (std::int64_t b = 0; b < bodies.count(); ++b) {
    for (auto k = bodies.first_run[b]; k < bodies.first_run[b + 1]; ++k) {
      EXPECT_EQ(bodies.runs[k].body, b);
      for (auto node = bodies.runs[k].first; node < bodies.runs[k].end; ++node) {
        EXPECT_TRUE(nodes[b].insert(node).second) << "twice";
      }
    }
  }
  return nodes;
}

/// By filling from one voxel at a time, voxel by voxel.
std::multiset<Nodes> by_flooding(std::vector<double> const& nu, Grid3 const& grid,
                                 Boundary const& boundary) {
  auto const [nx, ny, nz] = grid.voxels;
  auto const index = [&](auto x, auto y, auto z) { return (x * ny + y) * nz + z; };
  std::vector<char> done(nu.size());
  std::multiset<Nodes> found;
  for (std::int64_t seed = 0; seed < grid.voxel_count(); ++seed) {
    Nodes nodes;
    bool fixed = false;
    std::vector<std::int64_t> waiting{seed};
    while (!waiting.empty()) {
      auto const v = waiting.back();
      waiting.pop_back();
      if (done[v] != 0 || nu[v] <= threshold) continue;
      done[v] = 1;
      std::array<std::int64_t, 3> const at{v / nz / ny, v / nz % ny, v % nz};
      for (int c = 0; c < 8; ++c) {
        std::array<std::int64_t, 3> const corner{at[0] + (c >> 2), at[1] + (c >> 1 & 1),
                                                 at[2] + (c & 1)};
        nodes.insert((corner[0] * (ny + 1) + corner[1]) * (nz + 1) + corner[2]);
        for (int axis = 0; axis < 3; ++axis) {
          for (int side = 0; side < 2; ++side) {
            fixed = fixed || (corner[axis] == side * grid.voxels[axis] &&
                              boundary.face(axis, side).kind == FaceKind::dirichlet);
          }
        }
      }
      for (auto x = at[0] - 1; x <= at[0] + 1; ++x) {
        for (auto y = at[1] - 1; y <= at[1] + 1; ++y) {
          for (auto z = at[2] - 1; z <= at[2] + 1; ++z) {
            bool const inside = x >= 0 && x < nx && y >= 0 && y < ny && z >= 0 && z < nz;
            if (inside) waiting.push_back(index(x, y, z));
          }
        }
      }
    }
    if (!nodes.empty() && !fixed) found.insert(nodes);
  }
  return found;
}

TEST(ConductingBodies, AreThoseThatFloodingFinds) {
  Grid3 const grid{{9, 7, 8}, {1.0, 1.0, 1.0}};
  for (double const share : {0.03, 0.06, 0.1, 0.3, 0.7}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      SCOPED_TRACE(::testing::Message() << share << ' ' << seed);
      std::vector<double> nu;
      for (std::uint64_t v = 0; v < 9 * 7 * 8; ++v) {
        nu.push_back(hash_uniform({seed, v}) < share ? 1000.0 : 1.0);
      }
      auto const nodes = nodes_of(find_bodies(nu.data(), grid, ends, threshold, many));
      EXPECT_EQ(std::multiset<Nodes>(nodes.begin(), nodes.end()), by_flooding(nu, grid, ends));
      for (std::size_t b = 1; b < nodes.size(); ++b)
        EXPECT_GE(nodes[b - 1].size(), nodes[b].size());
    }
  }
}

TEST(ConductingBodies, JoinAtCornersAndAreAloneBeyondAVoxel) {
  Grid3 const grid = Grid3::cube(6);
  auto const count = [&](std::array<std::int64_t, 3> const& second) {
    auto const nu = with_conductors(grid, {{2, 2, 2}, second});
    return find_bodies(nu.data(), grid, ends, threshold, many).count();
  };
  EXPECT_EQ(count({3, 3, 3}), 1);
  EXPECT_EQ(count({1, 3, 1}), 1);
  EXPECT_EQ(count({2, 2, 4}), 2);
  EXPECT_EQ(count({4, 2, 2}), 2);
}

TEST(ConductingBodies, TouchNoDirichletFace) {
  Grid3 const grid = Grid3::cube(4);
  auto const count = [&](Boundary const& boundary, std::array<std::int64_t, 3> const& voxel) {
    // A second one, as the largest of an insulated box is left out.
    auto const nu = with_conductors(grid, {voxel, {2, 2, 2}});
    return find_bodies(nu.data(), grid, boundary, threshold, many).count();
  };
  EXPECT_EQ(count(ends, {0, 0, 0}), 1);
  EXPECT_EQ(count(ends, {2, 0, 0}), 2);
  EXPECT_EQ(count(parse_boundary("flux, flux, flux, flux, 1, 0"), {0, 0, 0}), 1);
  EXPECT_EQ(count(parse_boundary("flux, flux, flux, 0, flux, 0"), {0, 0, 0}), 2);
  EXPECT_EQ(count(insulated, {0, 0, 0}), 1);
}

TEST(ConductingBodies, TheLargestAreTaken) {
  Grid3 const grid = Grid3::cube(8);
  auto const nu =
      with_conductors(grid, {{2, 2, 2}, {2, 5, 2}, {2, 5, 3}, {5, 2, 2}, {5, 2, 3}, {5, 2, 4}});
  auto const sizes = [&](Boundary const& boundary, std::int64_t maximum) {
    std::vector<std::size_t> all;
    for (auto const& nodes : nodes_of(find_bodies(nu.data(), grid, boundary, threshold, maximum))) {
      all.push_back(nodes.size());
    }
    return all;
  };
  EXPECT_THAT(sizes(ends, many), ::testing::ElementsAre(16, 12, 8));
  EXPECT_THAT(sizes(ends, 2), ::testing::ElementsAre(16, 12));
  EXPECT_THAT(sizes(insulated, many), ::testing::ElementsAre(12, 8));
}

TEST(ConductingBodies, NoneWithoutConductors) {
  Grid3 const grid = Grid3::cube(3);
  auto const nu = with_conductors(grid, {});
  EXPECT_EQ(find_bodies(nu.data(), grid, ends, threshold, many).count(), 0);
  EXPECT_EQ(find_bodies(nu.data(), grid, insulated, threshold, many).count(), 0);
}

std::optional<double> gap_of(std::vector<double> const& values) {
  return widest_gap(values.data(), std::ssize(values));
}

TEST(WidestGap, LiesBetweenThePhases) {
  for (double const scale : {1.0, 1e-30, 1e30}) {
    auto const gap = gap_of({scale, 3 * scale, 2e4 * scale, 2 * scale, 1e5 * scale});
    ASSERT_TRUE(gap.has_value());
    EXPECT_GT(*gap, 3 * scale);
    EXPECT_LT(*gap, 2e4 * scale);
  }
  // Both are wide; the wider one counts, of equal ones the upper.
  EXPECT_GT(gap_of({1.0, 1e4, 1e9}).value(), 1e4);
  EXPECT_LT(gap_of({1.0, 1e6, 1e9}).value(), 1e6);
  EXPECT_GT(gap_of({1.0, 0x1p12, 0x1p24}).value(), 0x1p12);
}

TEST(WidestGap, IsNoneWhereValuesFollowEachOther) {
  EXPECT_FALSE(gap_of({1.0}));
  EXPECT_FALSE(gap_of({1.0, 1000.0}));
  std::vector<double> spread;
  for (int k = 0; k < 12; ++k) spread.push_back(std::pow(30.0, k));
  EXPECT_FALSE(gap_of(spread));
}

}  // namespace conducting_bodies_test
}  // namespace voxcycle
