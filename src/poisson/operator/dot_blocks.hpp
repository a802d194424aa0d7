// SPDX-License-Identifier: BSD-3-Clause
// Dot products of the samples of a batch for GPUs, as a block program (core/block_program.hpp).
#pragma once

#include "voxcycle/core/block_program.hpp"

#include <cstdint>

namespace voxcycle {

/// One launch: each block adds up a chunk of a sample's products, in float64.
template <class T>
struct DotJob {
  T const *a, *b;      ///< [batch, count]
  double* partial;     ///< [batch, chunks()]
  std::int64_t count;  ///< of a sample

  /// Functions of a sample's size alone, so that a sample of a batch has the bits that it has
  /// alone.
  VOXCYCLE_BOTH std::int64_t chunk_size() const {
    constexpr std::int64_t minimum = 16 * block_threads, max_chunks = 4096;
    std::int64_t const size = (count + max_chunks - 1) / max_chunks;
    return size > minimum ? size : minimum;
  }
  VOXCYCLE_BOTH std::int64_t chunks() const { return (count + chunk_size() - 1) / chunk_size(); }
};

/// What block `index` of batch * chunks() blocks does. @param shared  [block_threads]
template <class T, class Block>
VOXCYCLE_BOTH void dot_block(Block& block, double* shared, DotJob<T> const& job,
                             std::int64_t index) {
  std::int64_t const begin = index % job.chunks() * job.chunk_size();
  std::int64_t const end =
      begin + job.chunk_size() < job.count ? begin + job.chunk_size() : job.count;
  std::int64_t const sample = index / job.chunks() * job.count;
  block.each([=](int thread) {
    double sum = 0.0;
    for (std::int64_t i = begin + thread; i < end; i += block_threads) {
      sum += static_cast<double>(job.a[sample + i]) * static_cast<double>(job.b[sample + i]);
    }
    shared[thread] = sum;
  });
  sum_over_block(block, shared);
  block.each([=](int thread) {
    if (thread == 0) job.partial[index] = shared[0];
  });
  block.sync();
}

}  // namespace voxcycle
