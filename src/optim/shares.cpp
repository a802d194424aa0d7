// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/optim/shares.hpp"

#include "voxcycle/comm/exact_sum.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/parallel.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// Partial sums that take turns, so that additions need not wait for each other.
constexpr std::int64_t kLanes = 8;

template <class A, class B>
double chunk_dot(A const* a, B const* b, std::int64_t count) {
  std::array<double, kLanes> lanes{};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      lanes[static_cast<std::size_t>(lane)] +=
          static_cast<double>(a[i + lane]) * static_cast<double>(b[i + lane]);
    }
  }
  double sum = 0.0;
  for (double const lane : lanes) sum += lane;
  for (; i < count; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

/// Calls body with the values' pointer in their type.
template <class Body>
void with_values(at::Tensor const& values, Body const& body) {
  VOXCYCLE_REQUIRE(values.is_contiguous() && values.dim() == 1,
                   "shares: parts are contiguous vectors.");
  if (values.scalar_type() == at::kDouble) {
    body(values.const_data_ptr<double>());
  } else {
    body(values.const_data_ptr<float>());
  }
}

}  // namespace

Shares::Shares(Communicator const& comm, std::int64_t size) : comm_(&comm), size_(size) {
  VOXCYCLE_REQUIRE(size > 0 && size <= std::int64_t{1} << 32,
                   "cannot share out " << size << " variables. Use 1 to 2^32.");
}

std::int64_t Shares::begin_of(int rank) const {
  std::int64_t const chunks = (size_ + kChunk - 1) / kChunk;
  return std::min(size_, chunks * rank / comm_->size() * kChunk);
}

at::Tensor Shares::part(at::Tensor const& whole) const {
  return whole.narrow(0, begin(), count());
}

at::Tensor Shares::gather(at::Tensor const& part) const {
  if (comm_->size() == 1) return part;
  std::int64_t longest = 0;
  for (int rank = 0; rank < comm_->size(); ++rank) {
    longest = std::max(longest, begin_of(rank + 1) - begin_of(rank));
  }
  at::Tensor padded = at::zeros({longest}, part.options());
  padded.narrow(0, 0, count()).copy_(part);
  at::Tensor const all = comm_->all_gather(padded);
  at::Tensor whole = at::empty({size_}, part.options());
  for (int rank = 0; rank < comm_->size(); ++rank) {
    std::int64_t const length = begin_of(rank + 1) - begin_of(rank);
    whole.narrow(0, begin_of(rank), length).copy_(all[rank].narrow(0, 0, length));
  }
  return whole;
}

std::vector<double> Shares::dots(std::vector<Pair> const& pairs) const {
  std::int64_t const columns = std::ssize(pairs);
  std::int64_t const chunks = (count() + kChunk - 1) / kChunk;
  at::Tensor terms = at::empty({chunks, columns}, at::kDouble);
  auto* const term = terms.mutable_data_ptr<double>();
  for (std::int64_t column = 0; column < columns; ++column) {
    auto const& [left, right] = pairs[static_cast<std::size_t>(column)];
    with_values(left, [&](auto const* a) {
      with_values(right, [&](auto const* b) {
        parallel_for(chunks, 2 * kChunk, [&](std::int64_t first, std::int64_t last) {
          for (std::int64_t chunk = first; chunk < last; ++chunk) {
            std::int64_t const at = chunk * kChunk;
            term[chunk * columns + column] =
                chunk_dot(a + at, b + at, std::min(kChunk, count() - at));
          }
        });
      });
    });
  }
  at::Tensor const sums = exact_sum(*comm_, terms, (size_ + kChunk - 1) / kChunk);
  auto const* sum = sums.const_data_ptr<double>();
  return {sum, sum + columns};
}

double Shares::norm(at::Tensor const& a) const {
  return std::sqrt(dot(a, a));
}

void add_scaled(at::Tensor const& y, at::Tensor const& x, double factor) {
  auto* const to = y.mutable_data_ptr<double>();
  with_values(x, [&](auto const* from) {
    parallel_for(y.numel(), 2, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) to[i] += factor * static_cast<double>(from[i]);
    });
  });
}

}  // namespace voxcycle
