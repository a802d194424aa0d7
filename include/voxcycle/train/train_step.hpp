// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/gradient_reducer.hpp"
#include "voxcycle/comm/process_grid.hpp"
#include "voxcycle/dataset/prefetch.hpp"
#include "voxcycle/field/source.hpp"
#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/optim/optimizer.hpp"
#include "voxcycle/train/averaged_weights.hpp"
#include "voxcycle/train/loss.hpp"
#include "voxcycle/train/loss_scale.hpp"
#include "voxcycle/train/run_record.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace voxcycle {

/// Seconds spent in the parts of a step.
struct StepTimes {
  double data = 0, forward = 0, loss = 0, backward = 0, reduction = 0, update = 0;
  double graph = 0;  ///< all but data, where one launch does it
  double total() const { return data + forward + loss + backward + reduction + update + graph; }
  /// The parts by their names, in the order of the step.
  std::array<std::pair<char const*, double>, 7> named() const;
  StepTimes& operator+=(StepTimes const& other);
  StepTimes& operator-=(StepTimes const& other);
};

/// What the loss of a batch is made of; made once a stage.
struct BatchContext {
  ProcessGrid process_grid;  ///< on this grid
  Network& network;
  Loss const& loss;
  GradientReducer& reducer;
  Grid3 grid;
  at::ScalarType dtype;  ///< of convolutions
  std::int64_t micro_batch_size;
  SourceKind source = SourceKind::constant;  ///< of another the network sees f, too
  at::MemoryFormat layout = at::MemoryFormat::ChannelsLast3d;  ///< see ForwardContext
  bool recompute = false;                                      ///< see ForwardContext
};

/// How a batch is looked at.
struct BatchOptions {
  std::int64_t samples = 1;            ///< of all ranks
  bool gradient = true;                ///< false: its loss alone, which costs about a third
  bool training = true;                ///< see ForwardContext
  double statistics_weight = -1.0;     ///< see ForwardContext
  std::optional<double> loss_scale{};  ///< of backward; see LossScale
};

struct BatchResult {
  double loss = 0.0;        ///< mean over the global batch, the same bits on all ranks
  bool overflows = false;   ///< with a loss scale: the gradient is not finite, on all ranks
  std::string bad_samples;  ///< of this rank, in words, if the loss is not finite
  StepTimes times;
};

/// Forward, loss, backward, exact sums over all ranks, which leave the gradient in the parameters'
/// grad(). A loss that is not finite is returned as it is, without a gradient. **Collective**.
/// @throws NotFiniteGradient on all ranks, without a loss scale.
BatchResult batch_gradient(BatchContext const& context, LocalBatch const& batch,
                           BatchOptions const& options);

/// Everything a first-order step of one stage works with; made once a stage.
struct StepContext {
  BatchContext on;
  Optimizer& optimizer;
  AveragedWeights& averaged;
  std::int64_t batch;               ///< global
  LossScale* loss_scale = nullptr;  ///< of float16
};

struct StepResult {
  double loss = 0.0;  ///< mean over the samples looked at, the same bits on all ranks
  StepTimes times;
  double rate = 0.0;
  std::int64_t samples = 0;  ///< that the step went through, each time counted
  SearchFigures search;      ///< of L-BFGS
  double loss_scale = std::numeric_limits<double>::quiet_NaN();  ///< of float16, after the step
};

/// One first-order step: the batch's gradient, update. With a loss scale whose gradient overflows
/// weights and averages stay as they are. **Collective**.
/// @throws Error naming the samples if the loss is not finite (weights are then unchanged).
StepResult train_step(StepContext const& context, LocalBatch const& batch, double rate);

}  // namespace voxcycle
