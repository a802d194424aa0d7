// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/train/train_step.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace voxcycle {

/// The steps of one stage: as train_step, or, on a GPU and if it is asked for, as one CUDA graph a
/// shape of batch. A shape's first steps run as they are, and let everything that is made once be
/// made; then one is recorded. A graph's step takes one launch and at most three copies besides,
/// waits once, for the loss, and has the same bits. With a loss scale the update is a graph of its
/// own, launched if there is one.
class StageSteps {
 public:
  /// @param use_graphs  see TrainOptions::graph
  StageSteps(StepContext const& context, bool use_graphs);
  ~StageSteps();
  StageSteps(StageSteps const&) = delete;
  StageSteps& operator=(StageSteps const&) = delete;

  /// As train_step, but that a loss that is not finite is found after the update: the weights are
  /// spoilt then.
  StepResult step(LocalBatch const& batch, double rate);

 private:
  struct Recorded;

  StepContext context_;
  bool use_graphs_;
  /// By the number of samples in each micro-batch; null while a shape is young.
  std::map<std::vector<std::int64_t>, std::pair<int, std::unique_ptr<Recorded>>> shapes_;
};

}  // namespace voxcycle
