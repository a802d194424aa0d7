// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// The gradients of this rank's micro-batches, parameter by parameter, and their sums as integers:
/// the local part of exact sums (gradient_reducer.hpp), on the CPU or on a GPU with the same bits.
class MicroBatchGradients {
 public:
  /// Exponent of a parameter with a value that is not finite.
  static constexpr std::int64_t not_finite = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t min_exponent = -900;  ///< so that its power of two is a float64

  /// Some of the parameters.
  using Parts = std::vector<std::size_t>;

  explicit MicroBatchGradients(std::vector<at::Tensor> parameters)
      : parameters_(std::move(parameters)) {}
  virtual ~MicroBatchGradients() = default;
  MicroBatchGradients(MicroBatchGradients const&) = delete;
  MicroBatchGradients& operator=(MicroBatchGradients const&) = delete;

  /// Forgets all. @param micro-batches  about how many come for each parameter
  virtual void begin(std::int64_t micro_batches) = 0;
  /// One micro-batch's gradient, of the parameter's shape.
  virtual void add(std::size_t parameter, at::Tensor const& gradient) = 0;
  /// For each of the parts the smallest e >= min_exponent with |x| < 2^e for all its micro-batches'
  /// values: [parts] int64, where the parameters are. Nothing waits.
  virtual at::Tensor exponents(Parts const& parts) = 0;
  /// Sums over micro-batches, rounded to nearest term by term, part after part: int64.
  /// @param units  [parts] int64, as exponents(): the integers of a parameter are in units of
  /// 2^units
  virtual at::Tensor sums(Parts const& parts, at::Tensor const& units) = 0;
  /// Lets the parts' micro-batches go, where they take memory of their own.
  virtual void release(Parts const& /*parts*/) {}
  /// The parts of `sums` as gradients of their parameters.
  virtual std::vector<at::Tensor> gradients(at::Tensor const& sums, Parts const& parts,
                                            at::Tensor const& units) = 0;

 protected:
  std::vector<at::Tensor> const& parameters() const { return parameters_; }
  std::int64_t total_size(Parts const& parts) const {
    std::int64_t size = 0;
    for (auto const part : parts) size += parameters_[part].numel();
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
