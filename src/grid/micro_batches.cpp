// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/grid/micro_batches.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>

namespace voxcycle {

std::int64_t micro_batch_count(std::int64_t batch, std::int64_t micro_batch_size) {
  VOXCYCLE_REQUIRE(batch >= 0 && micro_batch_size > 0, "cannot cut a batch of "
                                                           << batch << " into units of "
                                                           << micro_batch_size << '.');
  return (batch + micro_batch_size - 1) / micro_batch_size;
}

std::int64_t micro_batches_in_turn(std::int64_t batch, std::int64_t micro_batch_size,
                                   std::int64_t groups) {
  return (micro_batch_count(batch, micro_batch_size) + groups - 1) / groups;
}

std::vector<MicroBatch> micro_batches_of_rank(std::int64_t batch, std::int64_t micro_batch_size,
                                              int ranks, int rank) {
  VOXCYCLE_REQUIRE(ranks > 0 && rank >= 0 && rank < ranks,
                   "rank " << rank << " of " << ranks << " does not exist.");
  std::int64_t const count = micro_batch_count(batch, micro_batch_size);
  std::vector<MicroBatch> micro_batches;
  for (std::int64_t k = count * rank / ranks; k < count * (rank + 1) / ranks; ++k) {
    micro_batches.push_back({k, k * micro_batch_size, std::min(batch, (k + 1) * micro_batch_size)});
  }
  return micro_batches;
}

}  // namespace voxcycle
