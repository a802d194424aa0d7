// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/grid/unit_box.hpp"

#include "voxcycle/core/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace unit_box_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Edges = std::array<double, 3>;

TEST(UnitBox, HasCubicVoxelsAndALongestEdgeOfOne) {
  EXPECT_TRUE((unit_box({8, 8, 8}) == Grid3::cube(8)));
  Grid3 const box = unit_box({3, 6, 2});
  EXPECT_EQ(box.lengths[1], 1.0);
  for (int axis = 0; axis < 3; ++axis) EXPECT_DOUBLE_EQ(box.spacing(axis), 1.0 / 6);
}

TEST(UnitBox, OfEdgesCountsVoxelsAlongTheLongest) {
  EXPECT_TRUE((unit_box(Edges{1, 1, 1}, 16) == Grid3::cube(16)));
  EXPECT_TRUE((unit_box(Edges{0.5, 1, 0.25}, 16) == Grid3{{8, 16, 4}, {0.5, 1, 0.25}}));
  // Levels that halve into each other are grids of the same box, rounded edges or not.
  EXPECT_TRUE((unit_box(Edges{0.333, 1, 0.667}, 12).coarsened() ==
               unit_box(Edges{0.333333, 1, 0.666667}, 6)));
}

TEST(UnitBox, RefusesEdgesThatAreNoWholeVoxels) {
  auto const refuse = [](Edges const& edges, std::int64_t n, char const* text) {
    EXPECT_THAT([&] { unit_box(edges, n); }, ThrowsMessage<Error>(HasSubstr(text)));
  };
  refuse({2, 1, 1}, 8, "in units of the longest: give 1, 0.5, 0.5");
  refuse({0.5, 0.5, 0.25}, 8, "give 1, 1, 0.5");
  refuse({1, 0.3, 1}, 8, "an edge of 0.3 is 2.4 voxels where the longest has 8");
  refuse({1, 1, 1e-3}, 8, "Choose edges");
}

}  // namespace unit_box_test
}  // namespace voxcycle
