// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/grid/slabs.hpp"

#include "voxcycle/core/error.hpp"

namespace voxcycle {

bool Slabs::cut(Grid3 const& grid) const {
  return count > 1 && grid.level() > above;
}

Grid3 Slabs::part_of(Grid3 const& grid) const {
  Grid3 part = grid;
  part.voxels[0] /= processes(grid);
  part.lengths[0] /= processes(grid);
  return part;
}

void Slabs::require_fits(Grid3 const& grid) const {
  VOXCYCLE_REQUIRE(count >= 1 && above >= 1,
                   "slabs: " << count << " of grids above " << above << '.');
  for (Grid3 at = grid; cut(at); at = at.coarsened()) {
    VOXCYCLE_REQUIRE(at.voxels[0] % (2 * count) == 0,
                     "run.spatial_processes = "
                         << count << " does not fit grid " << at.label() << ": its " << at.voxels[0]
                         << " planes along x must be a multiple of " << 2 * count
                         << ". Choose fewer processes per sample, or let "
                            "run.spatial_above be "
                         << at.level() << " or more.");
    if (!at.divisible(1)) return;
  }
}

}  // namespace voxcycle
