// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/parallel.hpp"

#include <algorithm>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>

namespace voxcycle {
namespace {

constexpr std::int64_t lanes = 8;
// Waking a thread costs some microseconds, as long as touching this many values takes.
constexpr std::int64_t least_work = 1 << 13;

// term(i) summed in `lanes` running sums.
template <class Term>
double sum_lanes(std::int64_t begin, std::int64_t end, Term const& term) {
  double sums[lanes] = {};
  std::int64_t i = begin;
  for (; i + lanes <= end; i += lanes) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      sums[lane] += term(i + lane);
    }
  }
  for (std::int64_t lane = 0; i < end; ++i, ++lane) {
    sums[lane] += term(i);
  }
  double total = 0.0;
  for (double sum : sums) {
    total += sum;
  }
  return total;
}

template <class Term>
double sum_in_order(std::int64_t count, Term const& term) {
  std::vector<double> partial(sum_chunks(count));
  parallel_for(std::ssize(partial), sum_chunk_size, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      partial[chunk] =
          sum_lanes(chunk * sum_chunk_size, std::min(count, (chunk + 1) * sum_chunk_size), term);
    }
  });
  double total = 0.0;
  for (double sum : partial) {
    total += sum;
  }
  return total;
}

}  // namespace

void parallel_for(std::int64_t count, std::int64_t work,
                  c10::function_ref<void(std::int64_t begin, std::int64_t end)> body) {
  std::int64_t const grain =
      std::max<std::int64_t>(least_work / std::max<std::int64_t>(work, 1), 1);
  if (count <= grain || at::get_num_threads() == 1 || at::in_parallel_region()) {
    if (count > 0) {
      body(0, count);
    }
    return;
  }
  // The iterator walks over bytes of a dummy tensor; an address is an index.
  at::Tensor const indices = at::empty({count}, at::kByte);
  auto const* base = static_cast<char const*>(indices.const_data_ptr());
  auto iterator = at::TensorIterator::borrowing_nullary_op(indices);
  iterator.for_each(
      [&](char** data, std::int64_t const* strides, std::int64_t size, std::int64_t repeats) {
        for (std::int64_t i = 0; i < repeats; ++i) {
          std::int64_t const begin = data[0] + i * strides[1] - base;
          body(begin, begin + size);
        }
      },
      grain);
}

template <class T>
double ordered_sum(T const* a, std::int64_t count) {
  return sum_in_order(count, [=](std::int64_t i) { return static_cast<double>(a[i]); });
}

template <class T>
double ordered_dot(T const* a, T const* b, std::int64_t count) {
  return sum_in_order(
      count, [=](std::int64_t i) { return static_cast<double>(a[i]) * static_cast<double>(b[i]); });
}

template <class T>
double lane_dot(T const* a, T const* b, std::int64_t count) {
  return sum_lanes(0, count, [=](std::int64_t i) {
    return static_cast<double>(a[i]) * static_cast<double>(b[i]);
  });
}

template double ordered_sum(float const*, std::int64_t);
template double ordered_sum(double const*, std::int64_t);
template double ordered_dot(float const*, float const*, std::int64_t);
template double ordered_dot(double const*, double const*, std::int64_t);
template double lane_dot(float const*, float const*, std::int64_t);
template double lane_dot(double const*, double const*, std::int64_t);

}  // namespace voxcycle
