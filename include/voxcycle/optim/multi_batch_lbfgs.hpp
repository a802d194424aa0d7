// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/optim/lbfgs.hpp"

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// L-BFGS for more samples than one step should look at (Berahas, Nocedal and Takac 2016, "A
/// multi-batch L-BFGS method for machine learning"): every iteration takes value and gradient of
/// another batch, and consecutive batches share samples. The pair y is the change of the gradient
/// over the shared samples alone, so that it shows curvature and not the change of the batch, and
/// costs nothing extra. Steps are halved until the batch's own value falls (Armijo); values that
/// are not finite back off tenfold.
class MultiBatchLbfgs {
 public:
  /// As Lbfgs. Of options.search the decrease and the most evaluations count.
  MultiBatchLbfgs(Communicator const& comm, BatchObjective& objective, at::Tensor const& diagonal,
                  LbfgsOptions const& options);
  MultiBatchLbfgs(MultiBatchLbfgs const&) = delete;
  MultiBatchLbfgs& operator=(MultiBatchLbfgs const&) = delete;

  /// One step, on the next batch. In the report, the value is that of the batch after the step and
  /// the gradient's norm that before it. A step without a lower value drops the history; the third
  /// in a row ends the method. **Collective**. @throws Error as Lbfgs, and for a batch that is not
  /// finite.
  LbfgsReport iterate();
  LbfgsReport const& report() const { return report_; }

  LbfgsHistory const& history() const { return history_; }
  NamedTensors state() const;  ///< as Lbfgs
  void restore(ArraySource const& read);

 private:
  BatchEvaluation look();
  double search(Descent const& descent, double value);

  BatchObjective& objective_;
  LbfgsOptions options_;
  Shares shares_;
  LbfgsHistory history_;
  at::Tensor x_;      ///< undefined before the first iteration
  at::Tensor s_;      ///< part of the last step; undefined if there was none
  at::Tensor after_;  ///< where it began, over the samples shared with the next batch; a part
  std::int64_t number_ = 0;
  std::int64_t failures_ = 0;  ///< in a row
  LbfgsReport report_;
};

}  // namespace voxcycle
