// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <bit>
#include <utility>

#include "comm/gradient_sums.hpp"
#include "comm/micro_batch_gradients.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

class ExactGradientSums final : public GradientSums {
 public:
  ExactGradientSums(Communicator const& comm, std::vector<at::Tensor> const& parameters)
      : comm_(comm),
        parameters_(parameters),
        micro_batches_(make_micro_batch_gradients(parameters)) {}

  void begin(std::int64_t total_micro_batches) override {
    // So many bits below a parameter's largest value that the sum of all fits 63.
    bits_ = 62 - std::bit_width(
                     static_cast<std::uint64_t>(std::max<std::int64_t>(1, total_micro_batches)));
    buckets_.clear();
    std::int64_t const ranks = comm_.size();
    micro_batches_->begin((total_micro_batches + ranks - 1) / ranks);
  }

  void add(std::size_t parameter, at::Tensor const& gradient) override {
    micro_batches_->add(parameter, gradient);
  }

  void start(Parts const& parts) override {
    auto& bucket = buckets_.emplace_back();
    bucket.parts = parts;
    bucket.exponents = micro_batches_->exponents(parts);
    bucket.pending = comm_.start_all_reduce(bucket.exponents, ReduceOperation::max);
    if (buckets_.size() > 1) send(buckets_[buckets_.size() - 2]);
  }

  void finish() override {
    if (!buckets_.empty()) send(buckets_.back());
    std::vector<at::Tensor> exponents;
    for (auto& bucket : buckets_) {
      bucket.pending->wait();
      auto const gradients =
          micro_batches_->gradients(bucket.sums, bucket.parts, bucket.exponents - bits_);
      for (std::size_t k = 0; k < bucket.parts.size(); ++k)
        parameters_[bucket.parts[k]].mutable_grad() = gradients[k];
      exponents.push_back(bucket.exponents);
    }
    exponents_ = exponents.empty() ? at::Tensor() : at::cat(exponents);
    buckets_.clear();
  }

  at::Tensor finite() const override {
    if (!exponents_.defined()) return at::ones({1}, at::kBool);
    return exponents_.ne(MicroBatchGradients::not_finite);
  }

 private:
  struct Bucket {
    Parts parts;
    at::Tensor exponents;  ///< [parts] int64
    at::Tensor sums;       ///< once the exponents are those of all ranks
    std::unique_ptr<PendingReduction> pending;
  };

  void send(Bucket& bucket) {
    bucket.pending->wait();
    bucket.sums = micro_batches_->sums(bucket.parts, bucket.exponents - bits_);
    micro_batches_->release(bucket.parts);
    bucket.pending = comm_.start_all_reduce(bucket.sums, ReduceOperation::sum);
  }

  Communicator const& comm_;
  std::vector<at::Tensor> parameters_;
  std::unique_ptr<MicroBatchGradients> micro_batches_;
  int bits_ = 0;
  std::vector<Bucket> buckets_;  ///< the last one's exponents are under way, the others' sums
  at::Tensor exponents_;         ///< of the newest finish(), bucket after bucket
};

}  // namespace

std::unique_ptr<GradientSums> make_exact_gradient_sums(Communicator const& comm,
                                                       std::vector<at::Tensor> const& parameters) {
  return std::make_unique<ExactGradientSums>(comm, parameters);
}

}  // namespace voxcycle
