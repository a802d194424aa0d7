// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/parallel.hpp"

#include <cstdint>

namespace voxcycle {

/// Length of the chunks in which long sums are cut, whatever the number of threads.
constexpr std::int64_t sum_chunk_size = 1 << 14;

/// How many such chunks `count` values make.
constexpr std::int64_t sum_chunks(std::int64_t count) {
  return (count + sum_chunk_size - 1) / sum_chunk_size;
}

/// sum_i a_i in float64, in an order that depends on count alone: fixed chunks, fixed lanes.
template <class T>
double ordered_sum(T const* a, std::int64_t count);

/// sum_i a_i b_i in float64, in an order that depends on count alone: fixed chunks, fixed lanes.
template <class T>
double ordered_dot(T const* a, T const* b, std::int64_t count);

/// sum_i a_i b_i and sum_i a_i of one chunk, in the calling thread.
template <class T>
double lane_dot(T const* a, T const* b, std::int64_t count);
template <class T>
double lane_sum(T const* a, std::int64_t count);

}  // namespace voxcycle
