// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/network/network.hpp"
#include "voxcycle/train/averaged_weights.hpp"
#include "voxcycle/train/checkpoint.hpp"
#include "voxcycle/train/held_out.hpp"
#include "voxcycle/train/trainer.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace voxcycle {

/// What a run is made of and what its directory keeps of it: weights, their average, the position
/// on the path, metrics; checkpoint.h5, stages/*.h5, best.h5, metrics.csv. Rank 0 writes.
class RunState {
 public:
  RunState(TrainOptions const& options, Communicator const& comm, std::vector<Stage> stages);

  /// Takes up the run directory's checkpoint if there is one to go on with, else the weights of the
  /// run to start from; then opens the record.
  /// @throws Error on all ranks if it belongs to another config, or the start to another network.
  void open();
  /// Stage, step and a hash of the weights, as text: what ranks that go on together have in common.
  std::string place() const;

  Network& network() { return *network_; }
  AveragedWeights& averaged() { return averaged_; }
  CheckpointHeader& position() { return position_; }
  std::vector<Stage> const& stages() const { return stages_; }
  /// Held-out energy gaps of the stage in progress, the one on entry first.
  std::vector<double> const& gaps() const { return gaps_; }
  std::vector<MetricRow> rows() const;

  /// Starts the stage in progress, or goes on with it: then `restore` takes up the method's state
  /// of the time.
  void begin_stage(std::function<void(CheckpointReader const&)> const& restore);
  /// Closes the stage in progress: a checkpoint, and what train.keep_stages asks for.
  /// @param warm_start  what the next stage takes over from this one's method
  void end_stage(NamedTensors warm_start);
  NamedTensors const& warm_start() const { return warm_start_; }

  /// Keeps what a step's figures need of the weights before it, now and then.
  void before_step();
  /// @param seconds  that a step takes
  void add_loss(StepResult const& result, double seconds);
  /// Adds held-out figures and keeps the weights if they are the best so far at the finest grid.
  void add_errors(HeldOutErrors const& errors);
  /// Of the grid of the stage, by their names. @param pictures  PNG
  void add_pictures(std::vector<std::pair<std::string, std::string>> const& pictures);
  void add_waiting(std::vector<double> const& shares);
  /// @param optimizer  state of the method of the stage in progress; empty between stages
  void save(NamedTensors const& optimizer);

 private:
  /// Network::begin_level for the levels of `grid` above one, but for those of the start.
  void begin_levels(Grid3 const& grid, std::int64_t above);
  void tell_of_drift();
  void require_directory() const;
  void require_in_range(std::vector<MetricRow> const& rows) const;
  MetricRow row() const;
  StepFigures figures_of(StepResult const& result, double seconds);
  CheckpointHeader position_with_metrics() const;
  bool best_so_far(double gap);

  TrainOptions const& o_;
  Communicator const& comm_;
  std::vector<Stage> stages_;
  std::shared_ptr<Network> network_;
  AveragedWeights averaged_;
  CheckpointHeader position_;
  std::optional<CheckpointReader> resumed_;
  std::optional<RunRecord> record_;
  std::vector<double> gaps_;
  NamedTensors warm_start_;
  std::vector<at::Tensor> weights_before_;  ///< of steps that are looked at closely
  double best_gap_;
  bool drift_told_ = false;
};

}  // namespace voxcycle
