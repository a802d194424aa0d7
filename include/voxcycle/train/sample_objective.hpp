// SPDX-License-Identifier: BSD-3-Clause
// The loss over fixed samples as a function of the weights.
#pragma once

#include "voxcycle/dataset/prefetch.hpp"
#include "voxcycle/optim/flat_parameters.hpp"
#include "voxcycle/optim/objective.hpp"
#include "voxcycle/train/train_step.hpp"
#include "voxcycle/train/trainer.hpp"

#include <cstdint>
#include <functional>
#include <memory>

namespace voxcycle {

/// Which samples an iteration of L-BFGS looks at, as positions of the stage (see Mixture).
///
/// Fixed set: positions [0, samples) each time. Multi-batch mode: iteration k looks at [k (samples
/// - overlap), k (samples - overlap) + samples). Example: samples 64, overlap 16 in batches of 8:
/// iteration 1 begins at 48, and its first two batches are the last two of iteration 0.
struct SamplePlan {
  std::int64_t samples = 0;  ///< an iteration
  std::int64_t overlap = 0;  ///< shared with the next one, whole batches; 0: a fixed set
  std::int64_t batch = 1;    ///< computed together, with batch-norm statistics in common

  bool iterates_batches() const { return overlap > 0; }
  std::int64_t first(std::int64_t iteration) const {
    return iterates_batches() ? iteration * (samples - overlap) : 0;
  }
  /// @param available  training samples of the grid
  /// @throws Error naming the key that does not fit.
  static SamplePlan of(LbfgsStageOptions const& options, LevelPlan const& plan,
                       std::int64_t available);
};

/// Mean loss over the samples of a plan, batch by batch in a fixed order, and its gradient in
/// float64: the mean over all samples of what a first-order step sees of its batch.
///
/// Batch norm takes the statistics of each fixed batch by default, so the value depends on nothing
/// but the weights and is what first-order steps minimise on average; Adam's second moments then
/// fit, too. Every evaluation also sets the running statistics to the means over all batches at
/// this point: evaluation then fits the weights at any time, and no earlier point leaves a trace.
/// With Statistics::running the means taken by freeze_statistics hold throughout, and evaluation
/// computes exactly what is minimised; but activations lose their normalisation on the way.
///
/// **Collective** members: evaluate, value, second_moments, freeze_statistics. Each throws
/// StopRequested on all ranks, in the middle of a pass, where a stop is wanted; weights and running
/// statistics are then those of the pass.
class SampleObjective final : public Objective, public BatchObjective {
 public:
  using Statistics = LbfgsStageOptions::Statistics;
  /// Reads positions [first, first + count) again and again in batches.
  using Open = std::function<std::unique_ptr<Prefetcher>(std::int64_t first, std::int64_t count)>;
  /// Whether to give up; asked before every batch, the same answer on all ranks. **Collective**.
  using StopWanted = std::function<bool()>;

  SampleObjective(BatchContext const& context, FlatParameters const& parameters,
                  SamplePlan const& plan, Statistics statistics, Open open,
                  StopWanted stop_wanted = {});

  std::int64_t size() const override { return parameters_.size(); }
  at::Tensor point() const override { return parameters_.values(); }
  ObjectiveValue evaluate(at::Tensor const& x) override;
  double value(at::Tensor const& x) override { return value(0, x); }
  BatchEvaluation evaluate(std::int64_t number, at::Tensor const& x) override;
  double value(std::int64_t number, at::Tensor const& x) override;

  /// Means over the batches of iteration `number` of the squared gradient, [n]: what Adam's second
  /// moments estimate, from one pass.
  at::Tensor second_moments(std::int64_t number);
  /// Statistics::running: takes the statistics, at the point where the weights stand.
  void freeze_statistics(std::int64_t number);

  StepTimes const& times() const { return times_; }
  std::int64_t samples_seen() const { return samples_seen_; }

 private:
  /// Where the terms of one batch go: called with its gradient and samples [begin, end) of the
  /// iteration.
  using Take =
      std::function<void(at::Tensor const& gradient, std::int64_t begin, std::int64_t end)>;
  double context(std::int64_t number, bool training, Take const& take);

  BatchContext const context_;
  FlatParameters const& parameters_;
  SamplePlan const plan_;
  Statistics const statistics_;
  Open const open_;
  StopWanted const stop_wanted_;
  std::unique_ptr<Prefetcher> prefetch_;
  std::int64_t first_ = -1;  ///< position that prefetch_ begins at
  StepTimes times_;
  std::int64_t samples_seen_ = 0;
};

}  // namespace voxcycle
