// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include <cstdint>

namespace voxcycle {

/// How processes share out the space of a sample: on fine grids each has a slab of planes along x,
/// all of one thickness; coarse grids are whole.
struct Slabs {
  int count = 1;            ///< of a grid, >= 1
  std::int64_t above = 32;  ///< grids with more voxels than this along their longest edge are cut

  bool cut(Grid3 const& grid) const;
  /// Processes that compute a sample of this grid together.
  int processes(Grid3 const& grid) const { return cut(grid) ? count : 1; }
  /// The grid as one process has it: the whole grid unless it is cut. All slabs are alike.
  ///
  /// Example: a quarter of Grid3::cube(64) has 16x64x64 voxels.
  Grid3 part_of(Grid3 const& grid) const;
  /// @throws Error unless this grid and the coarser ones that are cut have slabs of an even number
  /// of planes, so that the slabs of one are halves of those of the next.
  void require_fits(Grid3 const& grid) const;

  bool operator==(Slabs const&) const = default;
};

}  // namespace voxcycle
