// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/multigrid/axis_coarsening.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

namespace voxcycle {
namespace axis_coarsening_test {

/// Fine points on each coarse point.
std::vector<std::vector<int>> points_on(AxisCoarsening const& axis) {
  std::vector<std::vector<int>> result(static_cast<std::size_t>(axis.coarse()));
  for (int f = 0; f < axis.points; ++f) {
    if (!axis.between(f)) result.at(static_cast<std::size_t>(f + axis.shift(f)) / 2).push_back(f);
  }
  return result;
}

using Points = std::vector<std::vector<int>>;

TEST(AxisCoarsening, KeepsEverySecondPointAndTheLast) {
  EXPECT_EQ(points_on({1}), (Points{{0}}));
  EXPECT_EQ(points_on({2}), (Points{{0}, {1}}));
  EXPECT_EQ(points_on({2, true}), (Points{{0, 1}}));
  EXPECT_EQ(points_on({3}), (Points{{0}, {2}}));
  EXPECT_EQ(points_on({6}), (Points{{0}, {2}, {4}, {5}}));
  EXPECT_EQ(points_on({6, true}), (Points{{0}, {2}, {4, 5}}));
  EXPECT_EQ(points_on({7}), (Points{{0}, {2}, {4}, {6}}));
}

TEST(AxisCoarsening, EveryPointIsOnOneOrBetweenTwo) {
  for (int points = 1; points < 40; ++points) {
    for (bool const joins : {false, true}) {
      if (joins && points % 2 != 0) continue;
      AxisCoarsening const axis{points, joins};
      std::vector<int> seen;
      for (bool const between : {false, true}) {
        for (int k = 0; k < axis.count(between); ++k) {
          int const f = axis.point(between, k);
          seen.push_back(f);
          ASSERT_EQ(axis.between(f), between);
          if (between) {
            EXPECT_LT((f + 1) / 2, axis.coarse());
          } else {
            EXPECT_LE(std::abs(f - 2 * ((f + axis.shift(f)) / 2)), 1);
          }
        }
      }
      std::sort(seen.begin(), seen.end());
      ASSERT_EQ(seen.size(), static_cast<std::size_t>(points));
      for (int f = 0; f < points; ++f) EXPECT_EQ(seen[static_cast<std::size_t>(f)], f);
      for (auto const& on : points_on(axis)) EXPECT_FALSE(on.empty());
    }
  }
}

/// Numbers of points of a grid's axes, and of the grids below it.
std::vector<std::vector<std::int64_t>> grids_below(std::vector<std::int64_t> const& points,
                                                   double spacing_of_first = 1.0) {
  PointAxes axes;
  for (std::size_t a = 0; a < 3; ++a) axes[a] = {points[a], a == 0 ? spacing_of_first : 1.0, 1.0};
  std::vector<std::vector<std::int64_t>> result;
  while (true) {
    result.push_back({axes[0].points, axes[1].points, axes[2].points});
    if (result.size() > 1 && result.back() == result[result.size() - 2]) return result;
    GridCoarsening const coarsening = coarsening_of(axes);
    for (int a = 0; a < 3; ++a) axes[a] = coarsened(axes[a], coarsening[a]);
  }
}

TEST(AxisCoarsening, EndsOnOnePoint) {
  for (std::int64_t points = 1; points < 300; ++points) {
    auto const grids = grids_below({points, points, points});
    EXPECT_EQ(grids.back(), (std::vector<std::int64_t>{1, 1, 1}));
    // About half as many each time; grids has the last one twice.
    EXPECT_LT(1LL << (grids.size() - 2), 4 * points);
  }
}

TEST(AxisCoarsening, KeepsLastIntervalsFromGettingNarrower) {
  // 130 points, the last interval half as wide after one step, and as wide as others after two.
  auto const grids = grids_below({130, 102, 128});
  EXPECT_EQ(grids[1], (std::vector<std::int64_t>{66, 52, 65}));
  EXPECT_EQ(grids[2], (std::vector<std::int64_t>{33, 26, 33}));
  EXPECT_EQ(grids[3], (std::vector<std::int64_t>{17, 14, 17}));
  for (std::int64_t points = 2; points < 5000; points += 2) {
    PointAxes axes;
    axes.fill({points, 1.0, 1.0});
    while (axes[0].points > 2) {
      axes.fill(coarsened(axes[0], coarsening_of(axes, 0)));
      EXPECT_GE(axes[0].last, 0.3) << points;
    }
  }
}

TEST(AxisCoarsening, KeepsALastPointThatIsHeld) {
  PointAxis axis{6, 1.0, 0.5, true};
  for (std::int64_t const points : {4, 3, 2, 2}) {
    axis = coarsened(axis, coarsening_of({axis, axis, axis}, 0));
    EXPECT_EQ(axis.points, points);
  }
}

TEST(AxisCoarsening, ThinAxesWaitUntilTheOthersAreAsWide) {
  EXPECT_EQ(grids_below({2, 101, 101})[1].front(), 1);
  EXPECT_EQ(grids_below({2, 101, 101}, 1.0 + 1e-12)[1].front(), 1) << "equal but for rounding";
  // Points ten times as far apart as the others: after 16 intervals of those.
  auto const wide = grids_below({2, 101, 101}, 10.0);
  EXPECT_EQ(wide[4].front(), 2);
  EXPECT_EQ(wide[5].front(), 1);
}

TEST(AxisCoarsening, AveragedVoxelsCoverTheAxisOrAllButTheLast) {
  EXPECT_EQ(averaged_voxels(6, false), 3);
  EXPECT_EQ(averaged_voxels(6, true), 3);
  EXPECT_EQ(averaged_voxels(7, false), 4);
  EXPECT_EQ(averaged_voxels(7, true), 3);
}

}  // namespace axis_coarsening_test
}  // namespace voxcycle
