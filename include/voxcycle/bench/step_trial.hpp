// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/dataset/prefetch.hpp"
#include "voxcycle/train/stage_steps.hpp"
#include "voxcycle/train/trainer.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace voxcycle {

/// Whole training steps on random fields, for measurements: the network of the options at one grid
/// and batch, with no data on the disk. The fields are a function of options.seed.
class StepTrial {
 public:
  struct Variant {
    std::int64_t batch = 8;  ///< global
    std::string optimizer =
        LevelPlan{}.optimizer;  ///< lbfgs: timed as what it does most, batch gradients
    GradientMode reduction = GradientMode::exact;
    bool recompute = false;
  };

  /// @throws Error if the network does not fit the grid.
  StepTrial(TrainOptions const& options, Grid3 const& grid, Variant const& variant,
            Communicator const& comm);

  /// From now on a step waits for its batch of these, which are read ahead as in training.
  void read(Mixture samples);
  /// One step at a rate that changes little, by convolutions as reproducible as the variant's
  /// reduction. **Collective**.
  StepResult step();
  /// An evaluation of as many samples as fit into one micro-batch of each process or group of them,
  /// as those of held-out samples between steps. **Collective**.
  void evaluate();
  /// GradientReducer::early_share of the newest step.
  double overlapped_share() const { return reducer_.early_share(); }
  /// Values that a step trains.
  std::int64_t parameters() const;

 private:
  TrainOptions options_;  ///< with the variant's
  Grid3 grid_;
  std::int64_t batch_;
  ProcessGrid process_grid_;
  std::shared_ptr<Network> network_;
  AveragedWeights averaged_;
  GradientReducer reducer_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Loss> loss_;
  LossScale loss_scale_;
  StageSteps steps_;
  LocalBatch data_;
  std::optional<Prefetcher> prefetch_;
};

}  // namespace voxcycle
