// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// A function at one point.
struct ObjectiveValue {
  double value = 0.0;   ///< may be infinite or NaN
  at::Tensor gradient;  ///< [n] float64; undefined where the value is not finite
};

/// A function of n variables that can be evaluated where a search asks for it. The same point gives
/// the same bits, on all ranks.
class Objective {
 public:
  virtual ~Objective() = default;
  virtual std::int64_t size() const = 0;
  /// Where the variables stand: [n] float64, a copy.
  virtual at::Tensor point() const = 0;
  /// Moves the variables to x and evaluates there. **Collective**.
  /// @param x  [n] float64; rounded in place to values that the variables can hold
  virtual ObjectiveValue evaluate(at::Tensor const& x) = 0;
  /// The same value alone, where that is cheaper. **Collective**.
  virtual double value(at::Tensor const& x) { return evaluate(x).value; }
};

/// A function at one point, from one batch of samples.
struct BatchEvaluation {
  double value = 0.0;   ///< may be infinite or NaN
  at::Tensor gradient;  ///< [n] float64; undefined where the value is not finite
  at::Tensor before;    ///< gradient over the samples shared with the batch before
  at::Tensor after;     ///< gradient over the samples shared with the next batch
};

/// A mean over more samples than one wants to look at for a step: consecutive batches overlap.
class BatchObjective {
 public:
  virtual ~BatchObjective() = default;
  virtual std::int64_t size() const = 0;
  virtual at::Tensor point() const = 0;  ///< as Objective
  /// Batch `number` at x, to which the variables move. **Collective**.
  virtual BatchEvaluation evaluate(std::int64_t number, at::Tensor const& x) = 0;
  /// The value alone, which costs about a third. **Collective**.
  virtual double value(std::int64_t number, at::Tensor const& x) = 0;
};

}  // namespace voxcycle
