// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// The gradients of this rank's micro-batches, parameter by parameter, and their sums as integers:
/// the local part of exact sums (gradient_reducer.hpp), on the CPU or on a GPU with the same bits.
class MicroBatchGradients {
 public:
  /// One parameter in a sum: its values are integers in units of 2^exponent.
  struct Part {
    std::size_t parameter;
    int exponent;
  };

  explicit MicroBatchGradients(std::vector<at::Tensor> parameters)
      : parameters_(std::move(parameters)) {}
  virtual ~MicroBatchGradients() = default;
  MicroBatchGradients(MicroBatchGradients const&) = delete;
  MicroBatchGradients& operator=(MicroBatchGradients const&) = delete;

  /// Forgets all. @param micro-batches  about how many come for each parameter
  virtual void begin(std::int64_t micro_batches) = 0;
  /// One micro-batch's gradient, of the parameter's shape.
  virtual void add(std::size_t parameter, at::Tensor const& gradient) = 0;
  /// For each parameter the largest bit pattern of |x| of its micro-batches' values, in the bits of
  /// its type: that of the largest magnitude, also for infinities and NaN; -1 without
  /// micro-batches.
  virtual std::vector<std::int64_t> largest_patterns() = 0;
  /// Sums over micro-batches, rounded to nearest term by term, part after part: int64.
  virtual at::Tensor sums(std::vector<Part> const& parts) = 0;
  /// The parts of `sums` as gradients of their parameters.
  virtual std::vector<at::Tensor> gradients(at::Tensor const& sums,
                                            std::vector<Part> const& parts) = 0;

 protected:
  std::vector<at::Tensor> const& parameters() const { return parameters_; }
  std::int64_t total_size(std::vector<Part> const& parts) const {
    std::int64_t size = 0;
    for (auto const& part : parts) size += parameters_[part.parameter].numel();
    return size;
  }

 private:
  std::vector<at::Tensor> parameters_;
};

/// Where the parameters are.
std::unique_ptr<MicroBatchGradients> make_micro_batch_gradients(
    std::vector<at::Tensor> const& parameters);
std::unique_ptr<MicroBatchGradients> make_micro_batch_gradients_on_gpu(
    std::vector<at::Tensor> const& parameters);

}  // namespace voxcycle
