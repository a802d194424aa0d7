// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/grid/grid3.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <cmath>

namespace voxcycle {

std::int64_t Grid3::level() const {
  return *std::max_element(voxels.begin(), voxels.end());
}

bool Grid3::divisible(int times) const {
  std::int64_t const factor = std::int64_t{1} << times;
  return std::all_of(voxels.begin(), voxels.end(), [&](auto n) { return n % factor == 0; });
}

Grid3 Grid3::coarsened() const {
  VOXCYCLE_REQUIRE(divisible(1), "grid " << name() << " cannot be halved (an axis is odd). Use "
                                         << "sizes that are multiples of 2^levels.");
  return {{voxels[0] / 2, voxels[1] / 2, voxels[2] / 2}, lengths, 2.0 * part_spacing};
}

std::string Grid3::name() const {
  return std::to_string(voxels[0]) + "x" + std::to_string(voxels[1]) + "x" +
         std::to_string(voxels[2]);
}

std::string Grid3::label() const {
  bool const cube = voxels[0] == voxels[1] && voxels[1] == voxels[2];
  return cube ? std::to_string(voxels[0]) + "^3" : name();
}

void require_valid(Grid3 const& grid) {
  for (int axis = 0; axis < 3; ++axis) {
    VOXCYCLE_REQUIRE(grid.voxels[axis] > 0 && grid.lengths[axis] > 0,
                     "grid " << grid.name() << " is empty along axis "
                             << "xyz"[axis] << ". Sizes and lengths must be positive.");
    VOXCYCLE_REQUIRE(std::isfinite(grid.lengths[axis]),
                     "grid " << grid.name() << " has no finite length along axis "
                             << "xyz"[axis] << ". Give numbers.");
  }
}

}  // namespace voxcycle
