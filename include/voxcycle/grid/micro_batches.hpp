// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

namespace voxcycle {

/// Samples [begin, end) of a global batch, computed together with the same shapes whoever owns it.
struct MicroBatch {
  std::int64_t index;  ///< number of the micro-batch in the global batch
  std::int64_t begin;
  std::int64_t end;
  std::int64_t size() const { return end - begin; }
  bool operator==(MicroBatch const&) const = default;
};

/// Number of micro-batches of `micro_batch_size` samples in a batch; the last one may be smaller.
std::int64_t micro_batch_count(std::int64_t batch, std::int64_t micro_batch_size);

/// Of these, what the busiest of the ranks, or groups of them, that share them out computes in a
/// step.
std::int64_t micro_batches_in_turn(std::int64_t batch, std::int64_t micro_batch_size,
                                   std::int64_t groups);

/// The micro-batches that `rank` of `ranks` owns: a contiguous share, sizes differing by at most
/// one micro-batch.
///
/// Example: a batch of 7 in micro-batches of 2 has the micro-batches [0,2) [2,4) [4,6) [6,7); of 3
/// ranks, rank 0 owns the first, rank 1 the second, rank 2 the last two. With more ranks than
/// micro-batches some own none.
std::vector<MicroBatch> micro_batches_of_rank(std::int64_t batch, std::int64_t micro_batch_size,
                                              int ranks, int rank);

}  // namespace voxcycle
