// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/cycle/stage.hpp"
#include "voxcycle/dataset/held_out.hpp"
#include "voxcycle/dataset/mixture.hpp"
#include "voxcycle/train/trainer.hpp"

#include <map>
#include <string>
#include <vector>

namespace voxcycle {

/// The samples of a run: those that it trains on and those held out. Lists of shards are read once
/// per run.
class TrainingData {
 public:
  explicit TrainingData(TrainOptions const& options) : o_(options) {}

  /// Opens what a stage trains on: samples of data.directory, or made on the fly, and data.more.
  Mixture training(Stage const& stage) const;
  /// @param planes  that this rank reads; none: all
  HeldOutSamples held_out(Grid3 const& grid, Planes const& planes = {}) const;
  /// What this rank's shards say of themselves, for the comparison with other ranks.
  std::string describe(std::vector<Stage> const& stages) const;
  /// @throws Error unless the training samples hold what the loss looks at.
  void require_inputs(Stage const& stage) const;

 private:
  ShardList const& shards(std::string const& data, char const* split, Grid3 const& grid) const;
  std::unique_ptr<SampleSource> own_samples(Grid3 const& grid) const;

  TrainOptions const& o_;
  mutable std::map<std::string, ShardList> lists_;  ///< by directory
};

}  // namespace voxcycle
