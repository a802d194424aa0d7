// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/network/network.hpp"
#include "voxcycle/optim/lbfgs_history.hpp"
#include "voxcycle/optim/optimizer.hpp"
#include "voxcycle/train/fingerprint.hpp"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace voxcycle {

/// Where a run stands; with weights, averages and the optimiser's state it goes on bit for bit as
/// if never interrupted.
struct CheckpointHeader {
  Fingerprint fingerprint;
  std::string metrics;    ///< metrics.csv so far
  int stage = 0;          ///< stage in progress, from 0
  std::int64_t step = 0;  ///< steps done in it
  std::int64_t global_step = 0;
  double seconds = 0.0;        ///< training time so far
  double stage_seconds = 0.0;  ///< of these in the stage in progress
  std::int64_t work = 0;       ///< voxels processed so far
  std::int64_t averaged_updates = 0;
  bool finished = false;
  bool evaluation_due = true;         ///< at this step, on held-out samples
  std::vector<std::int64_t> taken{};  ///< levels that the run began with (train.start)
  /// Energy-norm error on held-out samples of the finest grid before the first step, a fraction;
  /// NaN: not measured (train.start, or a checkpoint of before it was).
  double untrained_error = std::numeric_limits<double>::quiet_NaN();
};

/// Writes all of a run's state atomically (temporary name, synced, checksummed, renamed).
/// @param optimizer  state of the method of the stage in progress; empty between stages
/// @param warm_start    what the next stage takes over from the last one's method; see
/// second_moments
/// @throws Error if the disk is full.
void write_checkpoint(std::string const& path, CheckpointHeader const& header,
                      Network const& network, Network const& average, NamedTensors const& optimizer,
                      NamedTensors const& warm_start);

/// Writes the averaged weights alone, for restore_average: what a stage ended with, the best so
/// far.
/// @throws Error if the disk is full.
void write_averages(std::string const& path, CheckpointHeader const& header,
                    Network const& average);

/// A checkpoint to read from. @throws Error (all members) naming the file if it is missing,
/// truncated, foreign or does not fit the network or optimiser.
class CheckpointReader {
 public:
  explicit CheckpointReader(std::string const& path);
  ~CheckpointReader();
  CheckpointReader(CheckpointReader&&) noexcept;
  CheckpointReader& operator=(CheckpointReader&&) noexcept;

  CheckpointHeader const& header() const;
  /// Reads all that it holds. @throws Error for the first damage.
  void require_sound() const;
  void restore_network(Network& network) const;
  void restore_average(Network& average) const;
  void restore_optimizer(Optimizer& optimizer) const;
  /// Weights or running statistics of a name: "network/..." or "average/..."; nothing if there are
  /// none.
  std::optional<at::Tensor> find(std::string const& name) const;
  /// One array of a method's state, float32 or float64.
  at::Tensor optimizer_array(std::string const& name) const;
  /// All that the next stage takes over.
  NamedTensors warm_start() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace voxcycle
