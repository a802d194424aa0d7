// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace voxcycle {

struct LossScaleOptions {
  double first = 65536.0;        ///< with which a stage begins, a power of two >= 1
  std::int64_t patience = 2000;  ///< steps without overflow after which it doubles, >= 1

  bool operator==(LossScaleOptions const&) const = default;
};

/// Dynamic loss scaling of float16: backward runs on the gradient of the loss times a power of two,
/// so that small gradients stay above 6e-8, the least that float16 knows. Where one exceeds 65504,
/// the step is skipped and the scale halved; after many good steps it doubles. Source: Micikevicius
/// et al. 2018, "Mixed Precision Training".
///
/// Dividing by a power of two changes no bits, and all ranks see the same sums: they have the same
/// scale without asking each other.
class LossScale {
 public:
  explicit LossScale(LossScaleOptions const& options) : options_(options), value_(options.first) {}

  double value() const { return value_; }
  /// Steps skipped since the stage began, or was gone on with.
  std::int64_t skipped() const { return skipped_; }
  /// Takes note of a step with this scale. @param is_finite  whether its gradient is
  /// @throws Error if it is not though the scale is 1.
  void settle(bool is_finite);

  /// Scale and good steps since it changed, [2] float64: part of a checkpoint.
  at::Tensor state() const;
  void restore(at::Tensor const& state);

 private:
  LossScaleOptions const options_;
  double value_;
  std::int64_t good_steps_ = 0, skipped_ = 0;
};

}  // namespace voxcycle
