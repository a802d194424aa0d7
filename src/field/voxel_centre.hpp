// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include <cstdint>

namespace voxcycle {

/// Coordinate along `axis` of the centre of voxel i, in units of Grid3::lengths.
inline double voxel_centre(Grid3 const& grid, int axis, std::int64_t i) {
  return (static_cast<double>(i) + 0.5) / static_cast<double>(grid.voxels[axis]) *
         grid.lengths[axis];
}

}  // namespace voxcycle
