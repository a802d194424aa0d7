// SPDX-License-Identifier: BSD-3-Clause
// The loops of comm/fixed_point.hpp for GPUs, over many arrays at once. Integers and roundings are
// those of the CPU: the bits of an exact sum do not depend on where its terms are.
#pragma once

#include "voxcycle/core/block_program.hpp"
#include "voxcycle/core/element_job.hpp"

#include <cmath>
#include <cstdint>

namespace voxcycle::fixed_point {

/// Arrays that lie in rows of values, one a micro-batch, and one after the other in their sums.
struct Segments {
  std::int64_t const*
      table;  ///< [4, count]: ends in the sums, begins in a row, micro-batches, exponents
  std::int64_t count;
  std::int64_t row_size;

  VOXCYCLE_BOTH std::int64_t end(std::int64_t array) const { return table[array]; }
  VOXCYCLE_BOTH std::int64_t first(std::int64_t array) const {
    return array == 0 ? 0 : table[array - 1];
  }
  VOXCYCLE_BOTH std::int64_t begin_in_row(std::int64_t array) const { return table[count + array]; }
  VOXCYCLE_BOTH std::int64_t micro_batches(std::int64_t array) const {
    return table[2 * count + array];
  }
  VOXCYCLE_BOTH int exponent(std::int64_t array) const {
    return static_cast<int>(table[3 * count + array]);
  }
  /// The array that element i of the sums is of.
  VOXCYCLE_BOTH std::int64_t array_of(std::int64_t i) const {
    std::int64_t low = 0, high = count - 1;
    while (low < high) {
      std::int64_t const middle = (low + high) / 2;
      if (i < end(middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
};

/// The largest bit pattern of |x| of an array in all its micro-batches.
template <class T>
struct LargestJob {
  Segments segments;
  T const* rows;          ///< [micro-batches, row size]
  std::int64_t* largest;  ///< [arrays]
};

VOXCYCLE_BOTH inline std::int64_t pattern_of(float x) {
  return __builtin_bit_cast(std::int32_t, x) & INT32_MAX;
}
VOXCYCLE_BOTH inline std::int64_t pattern_of(double x) {
  return __builtin_bit_cast(std::int64_t, x) & INT64_MAX;
}

/// @param shared  [block_threads]
template <class T, class Block>
VOXCYCLE_BOTH void largest_block(Block& block, std::int64_t* shared, LargestJob<T> const& job,
                                 std::int64_t array) {
  block.each([=](int thread) {
    auto const& s = job.segments;
    std::int64_t const size = s.end(array) - s.first(array);
    std::int64_t largest = 0;
    for (std::int64_t micro_batch = 0; micro_batch < s.micro_batches(array); ++micro_batch) {
      T const* const x = job.rows + micro_batch * s.row_size + s.begin_in_row(array);
      for (std::int64_t i = thread; i < size; i += block_threads) {
        std::int64_t const pattern = pattern_of(x[i]);
        largest = pattern > largest ? pattern : largest;
      }
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
    if (thread == 0) job.largest[array] = shared[0];
  });
  block.sync();
}

/// sums[i] = sum over micro-batches of x / 2^exponent, each rounded to nearest, ties away from
/// zero.
template <class T>
struct SumJob {
  Segments segments;
  T const* rows;  ///< [micro-batches, row size]
  std::int64_t* sums;

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    std::int64_t const array = segments.array_of(i);
    double const scale = std::ldexp(1.0, -segments.exponent(array));
    T const* const x = rows + segments.begin_in_row(array) + (i - segments.first(array));
    std::int64_t sum = 0;
    for (std::int64_t micro_batch = 0; micro_batch < segments.micro_batches(array); ++micro_batch) {
      double const scaled = static_cast<double>(x[micro_batch * segments.row_size]) * scale;
      sum += static_cast<std::int64_t>(scaled + (scaled < 0.0 ? -0.5 : 0.5));
    }
    sums[i] = sum;
  }
};

/// x[i] = sums[i] * 2^exponent
template <class T>
struct ToFloatingJob {
  Segments segments;
  std::int64_t const* sums;
  T* x;

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    double const quantum = std::ldexp(1.0, segments.exponent(segments.array_of(i)));
    x[i] = static_cast<T>(static_cast<double>(sums[i]) * quantum);
  }
};

template <class T>
using ElementJobs = std::tuple<SumJob<T>, ToFloatingJob<T>>;

}  // namespace voxcycle::fixed_point
