// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/parallel.hpp"

#include <algorithm>
#include <vector>

namespace voxcycle {
namespace {

constexpr std::int64_t lanes = 8;

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

template <class T>
double lane_sum(T const* a, std::int64_t count) {
  return sum_lanes(0, count, [=](std::int64_t i) { return static_cast<double>(a[i]); });
}

template double ordered_sum(float const*, std::int64_t);
template double ordered_sum(double const*, std::int64_t);
template double ordered_dot(float const*, float const*, std::int64_t);
template double ordered_dot(double const*, double const*, std::int64_t);
template double lane_dot(float const*, float const*, std::int64_t);
template double lane_dot(double const*, double const*, std::int64_t);
template double lane_sum(float const*, std::int64_t);
template double lane_sum(double const*, std::int64_t);

}  // namespace voxcycle
