// SPDX-License-Identifier: BSD-3-Clause
#include "comm/gradient_buckets.hpp"

#include "voxcycle/comm/gradient_reducer.hpp"

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// Large enough that a message's start costs little, small enough that the first leaves early.
constexpr std::int64_t kBucketBytes = std::int64_t{1} << 20;

}  // namespace

GradientBuckets::GradientBuckets(Communicator const& comm) : comm_(comm) {}

void GradientBuckets::begin() {
  parameters_.clear();
  sums_.clear();
  bytes_ = 0;
  sent_.clear();
}

void GradientBuckets::add(at::Tensor const& parameter, at::Tensor const& sum) {
  bool const other_type =
      !parameters_.empty() && parameters_.back().scalar_type() != parameter.scalar_type();
  if (other_type) send();
  parameters_.push_back(parameter);
  sums_.push_back(sum);
  bytes_ += static_cast<std::int64_t>(sum.nbytes());
  if (bytes_ >= kBucketBytes) send();
}

void GradientBuckets::send() {
  if (sums_.empty()) return;
  auto& bucket = sent_.emplace_back();
  bucket.parameters = std::move(parameters_);
  bucket.values = at::cat(sums_);
  bucket.pending = comm_.start_all_reduce(bucket.values, ReduceOperation::sum);
  parameters_.clear();
  sums_.clear();
  bytes_ = 0;
}

void GradientBuckets::finish() {
  send();
  std::vector<at::Tensor> finite;
  for (auto& bucket : sent_) {
    bucket.pending->wait();
    if (!bucket.values.is_meta()) finite.push_back(bucket.values.sum().isfinite());
    std::int64_t offset = 0;
    for (auto& parameter : bucket.parameters) {
      at::Tensor grad = at::empty_like(parameter);
      grad.as_strided({grad.numel()}, {1})
          .copy_(bucket.values.narrow(0, offset, parameter.numel()));
      offset += parameter.numel();
      parameter.mutable_grad() = grad;
    }
  }
  sent_.clear();
  finite_ = finite.empty() ? at::Tensor() : at::stack(finite);
}

at::Tensor GradientBuckets::finite() const {
  return finite_.defined() ? finite_.all().view({1}) : at::ones({1}, at::kBool);
}

}  // namespace voxcycle
