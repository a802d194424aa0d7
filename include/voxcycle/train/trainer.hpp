// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/comm/gradient_reducer.hpp"
#include "voxcycle/core/callback.hpp"
#include "voxcycle/cycle/stage.hpp"
#include "voxcycle/field/source.hpp"
#include "voxcycle/grid/slab.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/optim/optimizer.hpp"
#include "voxcycle/optim/schedule.hpp"
#include "voxcycle/poisson/boundary.hpp"
#include "voxcycle/train/fingerprint.hpp"
#include "voxcycle/train/run_record.hpp"
#include "voxcycle/train/train_step.hpp"
#include "voxcycle/train/waiting.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace voxcycle {

/// A run right after one of its steps.
struct StepView {
  int stage;          ///< from 0
  std::int64_t step;  ///< done in the stage
  double loss;
  Network const& network;
};

enum class Restart {
  resume,  ///< go on with the run directory's checkpoint if there is one
  fresh,   ///< begin anew; what the run directory holds is replaced as new files are written
};

/// More training data, drawn with a probability relative to 1 of the run's own.
struct MoreData {
  std::string directory;  ///< root of its shards
  double weight = 1.0;    ///< > 0

  bool operator==(MoreData const&) const = default;
};

/// What a stage of train.optimizer = lbfgs minimises, and from where.
struct LbfgsStageOptions {
  /// Statistics of synchronised batch norm in the objective. Both make it a function of the
  /// weights.
  enum class Statistics {
    batch,    ///< of each of the fixed batches, as first-order steps see them
    running,  ///< the means of these at the stage's start, then fixed
  };
  enum class Start {
    adam,      ///< D = 1 / (sqrt(v) + 1e-3 mean sqrt(v)), v Adam's second moments
    identity,  ///< D = 1, for ablation
  };

  std::int64_t samples = 0;   ///< size of the fixed set, 0: all training samples of the grid
  std::int64_t pairs = 100;   ///< curvature pairs kept, >= 1
  Start start = Start::adam;  ///< of the initial inverse Hessian
  Statistics statistics = Statistics::batch;
  std::int64_t batch = 0;  ///< multi-batch mode: samples an iteration, > 0; 0: the fixed set
  double overlap = 0.25;   ///< share of them that the next iteration looks at, too, (0, 1)

  bool operator==(LbfgsStageOptions const&) const = default;
};

struct TrainOptions {
  std::string directory = "runs/run";  ///< run directory
  std::string data = "data/run";       ///< root of the shards
  /// Makes the training samples of a grid on the fly; empty: they are stored in `data`.
  Callback<std::unique_ptr<SampleSource>(Grid3 const&)> fresh_samples;
  int workers = 1;                  ///< threads that read training samples ahead, >= 1
  std::vector<MoreData> more_data;  ///< mixed into training, not into held-out samples
  Augmentation augmentation = Augmentation::none;  ///< of training samples
  Fingerprint fingerprint;
  std::string summary;  ///< of the run, Markdown for TensorBoard's texts
  Restart restart = Restart::resume;
  /// Run directory of a finished run whose last weights this one begins with, as far as it has
  /// them, and whose second moments its first stage may take over; empty: random weights.
  std::string start;
  std::vector<std::int64_t> freeze;  ///< levels that keep the weights and statistics of the start

  LevelPath path;
  std::vector<LevelPlan> levels;  ///< coarsest first
  Boundary boundary;
  Source source;  ///< sampled: network.inputs must be 2
  NetworkOptions network;
  OptimizerOptions optimizer;  ///< its name stands in each LevelPlan
  LbfgsStageOptions lbfgs;
  Decay decay = Decay::linear;
  RateScaling rate_scaling = RateScaling::none;  ///< with the number of processes
  std::string loss = "energy_multigrid";

  std::uint64_t seed = 1;
  at::Device device = at::kCPU;                                ///< of this process, where it trains
  at::ScalarType dtype = at::kBFloat16;                        ///< of convolutions and activations
  at::MemoryFormat layout = at::MemoryFormat::ChannelsLast3d;  ///< of the same
  LossScaleOptions loss_scale;                                 ///< of dtype float16
  GradientMode reduction = GradientMode::exact;
  bool graph = false;  ///< see StageSteps
  std::int64_t micro_batch_size = 2;
  Slabs slabs;  ///< processes that share a sample's space; the bits depend on their number
  std::int64_t sample_block = 8;     ///< consecutive samples that stay together
  double average_horizon = 0.05;     ///< of the averaged weights, as a share of a stage's steps
  double checkpoint_seconds = 60.0;  ///< between checkpoints within a stage
  int keep_checkpoints = 2;          ///< the newest, and those before it
  bool keep_stages = false;          ///< stages/NN.h5: averaged weights at the end of each stage
  Callback<void(StepView const&)> after_step;  ///< called on every rank, may be empty
  /// Seconds that a step takes at levels of the path, by their numbers: for what is left of a run.
  /// Those of earlier sessions, and what times them at the start of a run, **collective**; may be
  /// empty.
  std::map<int, double> step_seconds;
  Callback<std::map<int, double>()> time_steps;
  /// Called on rank 0 before files are written; throws Error if the directory is not its own any
  /// more.
  Callback<void()> require_directory;
  std::int64_t stop_after_steps = 0;  ///< stop with a checkpoint after so many steps; 0: never
  std::int64_t trace_steps = 0;       ///< first steps of each stage in trace.json; 0: no such file

  bool operator==(TrainOptions const&) const = default;
};

struct TrainSummary {
  bool finished = false;          ///< false: stopped by a signal, a checkpoint was written
  bool gained = false;            ///< this session made a step or an evaluation
  double seconds = 0.0;           ///< training time, all sessions of the run
  StepTimes times;                ///< of this session
  double evaluation = 0.0;        ///< seconds of held-out evaluations, of this session
  double checkpoint = 0.0;        ///< seconds of writing weights and state, of this session
  std::vector<MetricRow> rows{};  ///< rank 0 only
  Waiting waiting{};              ///< of this session
  double untrained_error;         ///< see CheckpointHeader
};

/// Trains along the cycle, evaluates on held-out samples, writes metrics.csv, TensorBoard events
/// and checkpoints into the run directory (rank 0). A finished run directory is left as it is.
/// **Collective**. @throws Error for options, data or a checkpoint that do not fit, or a loss that
/// is not finite (the last good checkpoint stays).
TrainSummary train(TrainOptions const& options, Communicator const& comm);

/// Name of the optimiser that is not first-order.
inline constexpr char const* kLbfgs = "lbfgs";

}  // namespace voxcycle
