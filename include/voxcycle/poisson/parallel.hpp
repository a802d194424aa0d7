// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <c10/util/FunctionRef.h>

namespace voxcycle {

/// Runs body(begin, end) over disjoint ranges that cover 0 .. count, on torch's own threads
/// (at::set_num_threads). Serial inside another parallel region. Where ranges begin and end depends
/// on the number of threads: a body must compute the same whichever range an index falls in.
///
/// @param work  values touched an index: ranges are long enough to be worth a thread's waking
///
/// at::parallel_for itself is a template that is serial in code compiled without -fopenmp, as ours
/// is; this goes through TensorIterator, whose compiled code in libtorch is parallel.
void parallel_for(std::int64_t count, std::int64_t work,
                  c10::function_ref<void(std::int64_t begin, std::int64_t end)> body);

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

/// sum_i a_i b_i of one chunk, in the calling thread.
template <class T>
double lane_dot(T const* a, T const* b, std::int64_t count);

}  // namespace voxcycle
