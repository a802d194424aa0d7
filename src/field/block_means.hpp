// SPDX-License-Identifier: BSD-3-Clause
// Values on voxels become those of a coarser grid: the mean over each block of them.
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace voxcycle::block_means {

/// How many voxels of `fine` along each axis make one of `coarse`. The same for all axes: else the
/// field would be squashed. @throws Error naming both and the location.
std::int64_t size_of_block(Grid3 const& fine, Grid3 const& coarse, std::string const& location);

/// Means of blocks of block^3 values, on `voxels` of them along each axis, z fastest.
void average(float const* values, std::int64_t block, std::array<std::int64_t, 3> const& voxels,
             float* means);

}  // namespace voxcycle::block_means
