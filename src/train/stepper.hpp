// SPDX-License-Identifier: BSD-3-Clause
// What turns the loop of a stage: a step of a first-order method, or an iteration of L-BFGS.
#pragma once

#include "voxcycle/comm/gradient_reducer.hpp"
#include "voxcycle/comm/process_grid.hpp"
#include "voxcycle/cycle/stage.hpp"
#include "voxcycle/dataset/held_out.hpp"
#include "voxcycle/dataset/mixture.hpp"
#include "voxcycle/train/checkpoint.hpp"
#include "voxcycle/train/loss.hpp"
#include "voxcycle/train/train_step.hpp"
#include "voxcycle/train/trainer.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "train/run_state.hpp"

namespace voxcycle {

/// Where a stage stands before a step, as shares of its budget.
struct StageMoment {
  double progress = 0.0;    ///< used so far, [0, 1)
  double step_share = 0.0;  ///< that one step uses, > 0
};

/// The method of one stage, at work.
class Stepper {
 public:
  virtual ~Stepper() = default;
  /// One step; averaged weights then know it, too. **Collective**. @throws Error (see train);
  /// StopRequested on all ranks if it was given up: then all is as it was before it.
  virtual StepResult step(StageMoment const& moment) = 0;
  /// Why the method can go no further; empty while it can.
  virtual std::string stopped() const { return {}; }
  /// What it did in all, for the log; may be empty.
  virtual std::string summary() const { return {}; }
  /// Everything that a resumed stage needs besides the weights, by unique names; whole on rank 0.
  /// **Collective**.
  virtual NamedTensors state() = 0;
  virtual void restore(CheckpointReader const& checkpoint) = 0;
  /// See Optimizer.
  virtual NamedTensors second_moments() const { return {}; }
};

/// What the steps of a stage work with. It outlives the stepper.
struct StageSetup {
  TrainOptions const& options;
  Stage const& stage;
  ProcessGrid process_grid;  ///< on the stage's grid
  RunState& state;
  GradientReducer& reducer;
  std::unique_ptr<Loss> loss;
  Budget budget;  ///< resolved
  HeldOutSamples held_out;
  std::function<Mixture()> samples;   ///< opens the stage's training samples
  std::function<bool()> stop_wanted;  ///< whether any rank was asked to stop. **Collective**
};

/// Names accepted by make_stepper.
std::vector<std::string> stepper_names();
/// @throws Error for an unknown optimiser, listing the valid ones.
void require_stepper_name(std::string const& name);
/// @throws Error for an unknown optimiser or options that do not fit the stage, before any step.
void require_stepper(TrainOptions const& options, Stage const& stage, Mixture const& samples);
std::unique_ptr<Stepper> make_stepper(StageSetup const& setup);

/// The parameters that a stage trains, with the factors of their rates.
std::vector<ParameterGroup> parameter_groups(Network const& network, Stage const& stage);
OptimizerOptions optimizer_options(TrainOptions const& options, Stage const& stage);

}  // namespace voxcycle
