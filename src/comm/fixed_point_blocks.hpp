// SPDX-License-Identifier: BSD-3-Clause
// The loops of comm/fixed_point.hpp for GPUs. Integers and roundings are those of the CPU: the bits
// of an exact sum do not depend on where its terms are.
#pragma once

#include "voxcycle/core/block_program.hpp"
#include "voxcycle/core/element_job.hpp"

#include <cstdint>

namespace voxcycle::fixed_point {

/// Elements that a block looks at.
constexpr std::int64_t largest_chunk = 64 * block_threads;

/// The largest bit pattern of |x[i]| in each chunk; x may hold patterns itself.
template <class T>
struct LargestJob {
  T const* x;
  std::int64_t count;
  std::int64_t chunk;     ///< elements a block
  std::int64_t* largest;  ///< [chunks()]

  VOXCYCLE_BOTH std::int64_t chunks() const { return (count + chunk - 1) / chunk; }
};

VOXCYCLE_BOTH inline std::int64_t pattern_of(float x) {
  return __builtin_bit_cast(std::int32_t, x) & INT32_MAX;
}
VOXCYCLE_BOTH inline std::int64_t pattern_of(double x) {
  return __builtin_bit_cast(std::int64_t, x) & INT64_MAX;
}
VOXCYCLE_BOTH inline std::int64_t pattern_of(std::int64_t pattern) {
  return pattern;
}

/// @param shared  [block_threads]
template <class T, class Block>
VOXCYCLE_BOTH void largest_block(Block& block, std::int64_t* shared, LargestJob<T> const& job,
                                 std::int64_t index) {
  block.each([=](int thread) {
    std::int64_t const begin = index * job.chunk;
    std::int64_t const end = begin + job.chunk < job.count ? begin + job.chunk : job.count;
    std::int64_t largest = 0;
    for (std::int64_t i = begin + thread; i < end; i += block_threads) {
      std::int64_t const pattern = pattern_of(job.x[i]);
      largest = pattern > largest ? pattern : largest;
    }
    shared[thread] = largest;
  });
  block.sync();
  for (int half = block_threads / 2; half > 0; half /= 2) {
    block.each([=](int thread) {
      if (thread < half && shared[thread + half] > shared[thread]) {
        shared[thread] = shared[thread + half];
      }
    });
    block.sync();
  }
  block.each([=](int thread) {
    if (thread == 0) job.largest[index] = shared[0];
  });
  block.sync();
}

/// fixed[i] += x[i] * scale, rounded to nearest, ties away from zero.
template <class T>
struct AddJob {
  T const* x;
  double scale;
  std::int64_t* fixed;

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    double const scaled = static_cast<double>(x[i]) * scale;
    fixed[i] += static_cast<std::int64_t>(scaled + (scaled < 0.0 ? -0.5 : 0.5));
  }
};

/// x[i] = fixed[i] * quantum
template <class T>
struct ToFloatingJob {
  std::int64_t const* fixed;
  double quantum;
  T* x;

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    x[i] = static_cast<T>(static_cast<double>(fixed[i]) * quantum);
  }
};

template <class T>
using ElementJobs = std::tuple<AddJob<T>, ToFloatingJob<T>>;

}  // namespace voxcycle::fixed_point
