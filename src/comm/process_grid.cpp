// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/process_grid.hpp"

#include "voxcycle/core/error.hpp"

namespace voxcycle {

ProcessGrid::ProcessGrid(Communicator const& all_ranks, Slabs const& slabs_of_groups)
    : all(all_ranks), slabs(slabs_of_groups) {
  VOXCYCLE_REQUIRE(
      slabs.count >= 1 && all.size() % slabs.count == 0,
      all.size() << " processes do not divide into groups of " << slabs.count
                 << ". Start a multiple of it, or choose another run.spatial_processes.");
  if (slabs.count > 1) spatial = all.split(group());
}

}  // namespace voxcycle
