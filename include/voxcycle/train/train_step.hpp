// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/comm/gradient_reducer.hpp"
#include "voxcycle/dataset/prefetch.hpp"
#include "voxcycle/field/source.hpp"
#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/optim/optimizer.hpp"
#include "voxcycle/train/averaged_weights.hpp"
#include "voxcycle/train/loss.hpp"

#include <cstdint>

namespace voxcycle {

/// Seconds spent in the parts of a step.
struct StepTimes {
  double data = 0, forward = 0, loss = 0, backward = 0, reduction = 0, update = 0;
  double total() const { return data + forward + loss + backward + reduction + update; }
  StepTimes& operator+=(StepTimes const& other);
};

/// Everything a step of one stage works with; made once a stage.
struct StepContext {
  Communicator const& comm;
  Network& network;
  Loss const& loss;
  GradientReducer& reducer;
  Optimizer& optimizer;
  AveragedWeights& averaged;
  Grid3 grid;
  at::ScalarType dtype;  ///< of convolutions
  std::int64_t batch;    ///< global
  std::int64_t unit_size;
  SourceKind source = SourceKind::constant;  ///< sampled: the network sees f, too
};

struct StepResult {
  double loss = 0.0;  ///< mean over the global batch, the same bits on all ranks
  StepTimes times;
};

/// One step: forward, loss, backward, exact sums over all ranks, update. **Collective**.
/// @throws Error naming the samples if the loss is not finite (weights are then unchanged).
StepResult train_step(StepContext const& context, LocalBatch const& batch, double rate);

}  // namespace voxcycle
