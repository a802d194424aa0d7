// SPDX-License-Identifier: BSD-3-Clause
#include "cli/dry_run.hpp"

#include "voxcycle/bench/step_trial.hpp"
#include "voxcycle/config/memory_check.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/timer.hpp"
#include "voxcycle/grid/micro_batches.hpp"
#include "voxcycle/train/stage_budget.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

struct Patience {
  /// Steps that are expected to take longer are timed with one micro-batch a process, the smallest
  /// batch.
  double step = 4.0;
  /// Levels where that, too, is expected to take longer are not timed.
  double unit = 20.0;
  double timed = 2.0;  ///< seconds for which steps are repeated,
  int repeats = 10;    ///< at most so often
  double share = 1.0;  ///< and no more of them than this share of a stage's steps
};
/// Of a training, which waits for it.
constexpr Patience kBeforeTraining{1.0, 5.0, 0.7, 10, 0.1};

struct StepTime {
  double seconds = 0.0;
  double evaluation = 0.0;  ///< of all held-out samples
  bool timed = false;       ///< false: scaled from the coarser level
};

/// The same number on all ranks.
double longest(Communicator const& comm, double seconds) {
  at::Tensor value = at::full({1}, seconds, at::kDouble);
  comm.all_reduce(value, ReduceOperation::max);
  return value.item<double>();
}

/// The shortest of some, on the slowest rank.
template <class Work>
double time_of(Communicator const& comm, Patience const& patience, Budget const& budget,
               Work const& work) {
  auto const most =
      budget.steps > 0
          ? std::min<std::int64_t>(patience.repeats,
                                   std::llround(patience.share * static_cast<double>(budget.steps)))
          : patience.repeats;

  work();  // the first pays for memory and for the choice of kernels
  double best = 0.0, sum = 0.0;
  for (int k = 0; k == 0 || (k < most && sum < patience.timed); ++k) {
    Timer const timer;
    work();
    double const taken = longest(comm, timer.seconds());
    best = k == 0 ? taken : std::min(best, taken);
    sum += taken;
  }
  return best;
}

/// @param held_out  samples of an evaluation; 0: none is timed
/// @param a_voxel  times of the coarser level, by the voxels of its batch and of its held-out
///                 samples; 0: there is none
StepTime step_time(TrainOptions const& options, LevelPlan const& plan, std::int64_t held_out,
                   StepTime const& a_voxel, Communicator const& comm, Patience const& patience) {
  auto const voxels = static_cast<double>(plan.grid.voxel_count());
  auto const expected = [&](std::int64_t batch) {
    return a_voxel.seconds * voxels * static_cast<double>(batch);
  };
  int const groups = comm.size() / options.slabs.processes(plan.grid);
  std::int64_t batch = plan.batch;
  if (expected(batch) > patience.step) {
    batch = std::min(batch, options.micro_batch_size * groups);
  }
  if (expected(batch) > patience.unit) {
    return {expected(plan.batch), a_voxel.evaluation * voxels * static_cast<double>(held_out)};
  }
  log_info("timing steps at " + plan.grid.label());
  auto const turns = [&](std::int64_t samples) {
    return static_cast<double>(micro_batches_in_turn(samples, options.micro_batch_size, groups));
  };
  StepTrial trial(options, plan.grid,
                  {.batch = batch,
                   .optimizer = plan.optimizer,
                   .reduction = options.reduction,
                   .recompute = plan.recompute},
                  comm);
  StepTime time{.timed = true};
  time.seconds = time_of(comm, patience, plan.budget, [&] { trial.step(); }) * turns(plan.batch) /
                 turns(batch);
  if (held_out > 0) {
    time.evaluation =
        time_of(comm, patience, plan.budget, [&] { trial.evaluate(); }) * turns(held_out);
  }
  return time;
}

/// Time of a step at each level of the path, by its number in the config. A step of L-BFGS counts
/// as one evaluation, what most of its iterations need.
std::map<int, StepTime> step_times(TrainOptions const& options,
                                   std::vector<std::int64_t> const& samples,
                                   std::vector<std::int64_t> const& held_out,
                                   Communicator const& comm, Patience const& patience = {}) {
  std::map<int, StepTime> times;
  StepTime a_voxel;
  for (int const level : std::set<int>(options.path.begin(), options.path.end())) {
    auto const& plan = options.levels[static_cast<std::size_t>(level)];
    std::int64_t const looked_at = held_out[static_cast<std::size_t>(level)];
    StepTime& time = times[level] = step_time(options, plan, looked_at, a_voxel, comm, patience);
    auto const voxels = static_cast<double>(plan.grid.voxel_count());
    a_voxel = {time.seconds / (voxels * static_cast<double>(plan.batch)),
               looked_at > 0 ? time.evaluation / (voxels * static_cast<double>(looked_at)) : 0.0};
    auto const seen = samples_a_step(options, plan, samples[static_cast<std::size_t>(level)]);
    time.seconds *= static_cast<double>(seen) / static_cast<double>(plan.batch);
  }
  return times;
}

/// Of the weights that a run begins with, where it does not begin at the finest grid.
double untrained_evaluation(TrainOptions const& options, std::map<int, StepTime> const& times) {
  bool const looks_ahead = options.start.empty() && options.path.front() != times.rbegin()->first;
  return looks_ahead ? times.rbegin()->second.evaluation : 0.0;
}

}  // namespace

std::map<int, double> expected_step_seconds(TrainOptions const& options, Config const& config,
                                            Communicator const& comm) {
  bool const is_told = std::all_of(options.path.begin(), options.path.end(), [&](int level) {
    return options.levels[static_cast<std::size_t>(level)].budget.seconds > 0.0;
  });
  if (is_told) return {};
  auto const samples = config.integers_a_level("data.train_samples", options.levels.size(), 1);
  std::vector<std::int64_t> const none(options.levels.size(), 0);
  std::map<int, double> seconds;
  for (auto const& [level, time] : step_times(options, samples, none, comm, kBeforeTraining)) {
    seconds[level] = time.seconds;
  }
  return seconds;
}

std::string describe_training(TrainOptions options, Config const& config, Communicator const& comm,
                              std::int64_t gpu_bytes) {
  auto const stages = plan_stages(options.path, options.levels);
  auto const samples = config.integers_a_level("data.train_samples", options.levels.size(), 1);
  auto const memory = require_training_memory(options, config, comm, gpu_bytes);
  auto const held_out = config.integers_a_level("data.held_out_samples", options.levels.size(), 1);
  auto const times = step_times(options, samples, held_out, comm);

  struct Line {
    Stage stage;
    Budget budget;
    StepTime time;
    double samples, seconds, work;
  };
  std::vector<Line> lines;
  double seconds = 0.0;
  double evaluations = untrained_evaluation(options, times);
  double work = 0.0;
  for (std::size_t k = 0; k < stages.size(); ++k) {
    auto const& plan = stages[k].plan;
    auto const level = static_cast<std::size_t>(options.path[k]);
    Budget const budget = stage_budget(options, plan, samples[level]);
    StepTime const& time = times.at(options.path[k]);
    double const step = time.seconds;
    double const steps = expected_steps(budget, step);
    auto const seen = steps * static_cast<double>(samples_a_step(options, plan, samples[level]));
    lines.push_back({stages[k], budget, time, seen, steps * step,
                     seen * static_cast<double>(plan.grid.voxel_count())});
    seconds += lines.back().seconds;
    evaluations += time.evaluation * (1 + plan.evaluations);
    work += lines.back().work;
  }

  std::string path;
  for (auto const& stage : stages) path += (path.empty() ? "" : " ") + stage.plan.grid.label();
  std::string text =
      format("path of cycle %s: %s\n\n", config.text("cycle.name").c_str(), path.c_str());
  text +=
      format("%-6s %-7s %-28s %6s %9s %9s %10s %10s %12s %9s %6s %6s\n", "stage", "grid", "budget",
             "batch", "optimiser", "samples", "memory", "sends", "a step", "time", "time", "work");
  bool scaled = false;
  for (auto const& line : lines) {
    auto const& time = line.time;
    scaled = scaled || !time.timed;
    auto const& planned = memory[static_cast<std::size_t>(line.stage.number)];
    auto const sent = planned.sent().bytes;
    text += format("%-6d %-7s %-28s %6ld %9s %9.0f %10s %10s %12s %9s %4.0f %% %4.0f %%\n",
                   line.stage.number + 1, line.stage.plan.grid.label().c_str(),
                   budget_text(line.stage.plan, line.budget).c_str(),
                   static_cast<long>(line.stage.plan.batch), line.stage.plan.optimizer.c_str(),
                   line.samples, format_bytes(static_cast<double>(planned.bytes)).c_str(),
                   format_bytes(static_cast<double>(sent)).c_str(),
                   (format_seconds(time.seconds) + (time.timed ? "" : " *")).c_str(),
                   format_seconds(line.seconds).c_str(), 100.0 * line.seconds / seconds,
                   100.0 * line.work / work);
  }
  text +=
      format("\npredicted training time %s on %s, %s with evaluations of held-out samples\n",
             format_seconds(seconds).c_str(), counted(comm.size(), "process", "processes").c_str(),
             format_seconds(seconds + evaluations).c_str());
  text +=
      "memory: the most that a process holds; sends: what it puts into collective calls per step\n";
  if (scaled) text += "* scaled from the next coarser level by voxels, not timed\n";
  return text;
}

}  // namespace voxcycle
