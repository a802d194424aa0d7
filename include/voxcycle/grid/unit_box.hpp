// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include <array>
#include <cstdint>

namespace voxcycle {

/// The box of so many cubic voxels whose longest edge is 1: what networks are trained on.
///
/// Example: unit_box({8, 4, 4}) is [0, 1] x [0, 1/2] x [0, 1/2].
Grid3 unit_box(std::array<std::int64_t, 3> const& voxels);

/// The box of these edges, in units of the longest, with n cubic voxels along it. Edges may be
/// rounded to a fiftieth of a voxel.
/// @throws Error unless the longest edge is 1 and every edge is a whole number of voxels.
Grid3 unit_box(std::array<double, 3> const& edges, std::int64_t n);

}  // namespace voxcycle
