// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "comm/gradient_sums.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

class FloatGradientSums final : public GradientSums {
 public:
  FloatGradientSums(Communicator const& comm, std::vector<at::Tensor> const& parameters)
      : comm_(comm), parameters_(parameters) {}

  void begin(std::int64_t /*total_micro_batches*/) override {
    buckets_.clear();
    local_sums_.assign(parameters_.size(), {});
  }

  void add(std::size_t parameter, at::Tensor const& gradient) override {
    auto const& like = parameters_[parameter];
    at::Tensor const values =
        at::empty_like(like).copy_(gradient).as_strided({like.numel()}, {1});  // in memory order
    auto& sum = local_sums_[parameter];
    if (sum.defined()) {
      sum.add_(values);
    } else {
      sum = values;
    }
  }

  void start(Parts const& parts) override {
    std::vector<at::Tensor> sums;
    for (auto const part : parts) {
      at::Tensor sum = std::exchange(local_sums_[part], {});
      auto const& like = parameters_[part];
      sums.push_back(sum.defined() ? std::move(sum) : at::zeros({like.numel()}, like.options()));
    }
    auto& bucket = buckets_.emplace_back();
    bucket.parts = parts;
    bucket.values = at::cat(sums);
    bucket.pending = comm_.start_all_reduce(bucket.values, ReduceOperation::sum);
  }

  void finish() override {
    std::vector<at::Tensor> finite;
    for (auto& bucket : buckets_) {
      bucket.pending->wait();
      if (!bucket.values.is_meta())
        finite.push_back(bucket.values.sum().isfinite().expand(std::ssize(bucket.parts)));
      std::int64_t offset = 0;
      for (auto const part : bucket.parts) {
        auto& parameter = parameters_[part];
        at::Tensor grad = at::empty_like(parameter);
        grad.as_strided({grad.numel()}, {1})
            .copy_(bucket.values.narrow(0, offset, parameter.numel()));
        offset += parameter.numel();
        parameter.mutable_grad() = grad;
      }
    }
    buckets_.clear();
    finite_ = finite.empty() ? at::Tensor() : at::cat(finite);
  }

  at::Tensor finite() const override {
    return finite_.defined() ? finite_ : at::ones({1}, at::kBool);
  }

 private:
  struct Bucket {
    Parts parts;
    at::Tensor values;  ///< the sums, one after the other
    std::unique_ptr<PendingReduction> pending;
  };

  Communicator const& comm_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> local_sums_;  ///< of each parameter
  std::vector<Bucket> buckets_;
  at::Tensor finite_;
};

}  // namespace

std::unique_ptr<GradientSums> make_float_gradient_sums(Communicator const& comm,
                                                       std::vector<at::Tensor> const& parameters) {
  return std::make_unique<FloatGradientSums>(comm, parameters);
}

}  // namespace voxcycle
