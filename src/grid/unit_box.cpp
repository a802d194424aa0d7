// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/grid/unit_box.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <cmath>

namespace voxcycle {
namespace {

/// So that 0.333 of 48 voxels are 16.
constexpr double kRounding = 0.02;

}  // namespace

Grid3 unit_box(std::array<std::int64_t, 3> const& voxels) {
  Grid3 grid{voxels, {}};
  auto const maximum = static_cast<double>(grid.level());
  for (std::size_t axis = 0; axis < 3; ++axis) {
    grid.lengths[axis] = static_cast<double>(voxels[axis]) / maximum;
  }
  return grid;
}

Grid3 unit_box(std::array<double, 3> const& edges, std::int64_t n) {
  double const longest = *std::max_element(edges.begin(), edges.end());
  VOXCYCLE_REQUIRE(longest == 1.0, "the longest edge is "
                                       << longest << ". Edges are in units of the longest: give "
                                       << edges[0] / longest << ", " << edges[1] / longest << ", "
                                       << edges[2] / longest << '.');
  std::array<std::int64_t, 3> voxels{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double const exact = edges[axis] * static_cast<double>(n);
    voxels[axis] = std::llround(exact);
    VOXCYCLE_REQUIRE(
        voxels[axis] > 0 && std::abs(exact - static_cast<double>(voxels[axis])) <= kRounding,
        "an edge of " << edges[axis] << " is " << exact << " voxels where the longest "
                      << "has " << n << ". Choose edges that are whole numbers of "
                      << "voxels on every level.");
  }
  return unit_box(voxels);
}

}  // namespace voxcycle
