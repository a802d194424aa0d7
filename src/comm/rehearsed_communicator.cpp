// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/rehearsed_communicator.hpp"

#include <cstdlib>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

Calls call_of(at::Tensor const& values) {
  return {1, static_cast<std::int64_t>(values.nbytes())};
}

class NoRehearsedWait final : public PendingReduction {
 public:
  void wait() override {}
};

}  // namespace

RehearsedCommunicator::RehearsedCommunicator(int size, int part_size, int rank)
    : size_(size), part_size_(part_size), rank_(rank) {}

void RehearsedCommunicator::all_reduce(at::Tensor& values, ReduceOperation /*operation*/) const {
  own_->sums += call_of(values);
}

std::unique_ptr<PendingReduction> RehearsedCommunicator::start_all_reduce(
    at::Tensor& values, ReduceOperation operation) const {
  all_reduce(values, operation);
  return std::make_unique<NoRehearsedWait>();
}

at::Tensor RehearsedCommunicator::all_gather(at::Tensor const& values) const {
  own_->gathers += call_of(values);
  auto sizes = values.sizes().vec();
  sizes.insert(sizes.begin(), size_);
  return at::empty(sizes, values.options());
}

Neighbours RehearsedCommunicator::exchange(at::Tensor const& to_before,
                                           at::Tensor const& to_behind) const {
  bool const has_before = rank_ > 0, has_behind = rank_ + 1 < size_;
  auto const& exchanged = call_of(to_before);
  own_->exchanges += {1, exchanged.bytes * ((has_before ? 1 : 0) + (has_behind ? 1 : 0))};
  return {has_before ? at::empty_like(to_before) : at::Tensor(),
          has_behind ? at::empty_like(to_behind) : at::Tensor()};
}

std::unique_ptr<Communicator> RehearsedCommunicator::split(int /*number*/) const {
  // In the middle, with neighbours on both sides.
  auto part = std::make_unique<RehearsedCommunicator>(part_size_, 1, part_size_ / 2);
  part->own_ = of_parts_;
  return part;
}

void RehearsedCommunicator::abort(int code) const noexcept {
  std::_Exit(code);
}

}  // namespace voxcycle
