// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/process_grid.hpp"

#include "voxcycle/core/error.hpp"

#include <ATen/ATen.h>

namespace voxcycle {

ProcessGrid::ProcessGrid(Communicator const& all_ranks, Slabs const& slabs_of_groups)
    : all(all_ranks), slabs(slabs_of_groups) {
  at::Tensor const mine =
      at::tensor({std::int64_t{slabs.count}, slabs.above, std::int64_t{slabs.parts}});
  at::Tensor most = mine.clone(), least = mine.clone();
  all.all_reduce(most, ReduceOperation::max);
  all.all_reduce(least, ReduceOperation::min);
  VOXCYCLE_REQUIRE(most.equal(least),
                   "the processes do not agree on run.spatial_processes, run.spatial_above or "
                   "run.spatial_parts. Start all with the same config.");
  VOXCYCLE_REQUIRE(
      slabs.count >= 1 && all.size() % slabs.count == 0,
      all.size() << " processes do not divide into groups of " << slabs.count
                 << ". Start a multiple of it, or choose another run.spatial_processes.");
  if (slabs.count > 1) spatial = all.split(group());
}

}  // namespace voxcycle
