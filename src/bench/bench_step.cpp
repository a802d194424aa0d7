// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/bench/step_trial.hpp"
#include "voxcycle/comm/clocked_communicator.hpp"
#include "voxcycle/comm/largest.hpp"
#include "voxcycle/config/memory_check.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/memory.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/train/slow_precision.hpp"
#include "voxcycle/train/training_data.hpp"
#include "voxcycle/train/waiting.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure.hpp"
#include "bench/operator_counts.hpp"
#include "bench/step_profile.hpp"
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/CachingDeviceAllocator.h>

namespace voxcycle {
namespace {

/// One way to do the step, timed beside the others.
struct Contender {
  std::string prefix;  ///< of its entries in the line
  std::unique_ptr<StepTrial> trial;
  double first_loss = 0.0;
  OperatorCounts counts{};  ///< of the last warm-up
  StepTimes parts{};
  double seconds = 0.0;      ///< median
  double in_calls = 0.0;     ///< seconds of this process in collective calls, of all steps
  Calls sent{};              ///< by the first step, which meets its samples for the first time
  double all_seconds = 0.0;  ///< of these steps
  std::unique_ptr<WaitingCount> waiting{};
};

GradientMode parse_reduction(std::string const& name) {
  VOXCYCLE_REQUIRE(name == "exact" || name == "fast",
                   "--reduction '" << name << "' is unknown. Choose exact, fast or exact,fast.");
  return name == "exact" ? GradientMode::exact : GradientMode::fast;
}

/// The same network, options and data as everybody's: float32 and torch's default layout, which our
/// kernels for GPUs do not know.
TrainOptions baseline_of(TrainOptions options) {
  options.dtype = at::kFloat;
  if (options.device.is_cpu()) options.layout = at::MemoryFormat::Contiguous;
  return options;
}

void warm_up(Contender& contender, ClockedCommunicator& clocked) {
  for (int k = 0; k < kBenchWarmUps; ++k) {
    if (k == 0) clocked.start_clock();
    contender.counts = count_operators([&] {
      double const loss = contender.trial->step().loss;
      if (k == 0) contender.first_loss = loss;
    });
    for (auto const& call : clocked.stop_clock()) contender.sent += {1, call.bytes};
  }
}

/// Unless --repeats tells: fewer rounds of steps that take long, the same number on all ranks.
std::int64_t rounds_of(BenchOptions const& o, StepTrial& trial) {
  if (o.repeats) return *o.repeats;
  constexpr double max_seconds = 60.0;
  double const step = seconds_of([&] { trial.step(); });
  auto const fitting = static_cast<std::int64_t>(max_seconds / step);
  return -largest_of(o.comm, -std::clamp<std::int64_t>(fitting, 1, bench_repeats(o)));
}

/// @param clocked  what the contenders compute with
void take_turns(std::vector<Contender>& contenders, std::int64_t rounds, Communicator const& comm,
                ClockedCommunicator& clocked) {
  auto const round = [&] {
    std::vector<double> seconds;
    for (auto& contender : contenders) {
      comm.barrier();
      clocked.start_clock();
      StepResult result;
      seconds.push_back(seconds_of([&] { result = contender.trial->step(); }));
      auto const calls = clocked.stop_clock();
      contender.parts += result.times;
      contender.waiting->add(seconds.back(), calls);
      for (auto const& call : calls) contender.in_calls += call.seconds;
      contender.all_seconds += seconds.back();
    }
    return seconds;
  };
  auto const seconds = medians(rounds, round, /*warm_ups=*/0);
  for (std::size_t k = 0; k < contenders.size(); ++k) contenders[k].seconds = seconds[k];
}

/// What sums over processes take of a step, means over the processes.
struct SumShares {
  double waiting = 0.0;   ///< for the last of them to come
  double exchange = 0.0;  ///< and then for the data
};

/// **Collective**.
SumShares sum_shares(Contender const& contender, Communicator const& comm) {
  auto const waited = contender.waiting->recent();
  if (waited.empty()) return {};
  at::Tensor sums = at::tensor({contender.in_calls, contender.all_seconds}, at::kDouble);
  comm.all_reduce(sums, ReduceOperation::sum);
  double const all = std::accumulate(waited.begin(), waited.end(), 0.0);
  double const waiting = all / static_cast<double>(waited.size());
  return {waiting, sums[0].item<double>() / sums[1].item<double>() - waiting};
}

/// The most that this process held there so far.
std::int64_t peak_bytes(at::Device device) {
  if (device.is_cpu()) return resident_peak_bytes();
  auto const total = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  auto const stats = c10::getDeviceAllocator(device.type())->getDeviceStats(device.index());
  return stats.reserved_bytes[total].peak;
}

/// Of one more step, which all ranks make and rank 0 looks at.
/// @return why there is no profile, or "": what was measured before is to be told all the same
std::string add_profile(BenchOptions const& o, StepTrial& trial, Json& members) {
  if (o.comm.rank() != 0) {
    trial.step();
    return {};
  }
  Profile profile;
  try {
    profile = profile_of([&] { trial.step(); }, o.device, o.profile);
  } catch (Error const& error) {
    return error.what();
  }
  members["profiled_seconds"] = profile.seconds;
  members["convolution_share"] = profile.convolutions;
  if (o.device.is_cpu()) return {};
  members["own_kernel_share"] = profile.own_kernels;
  members["copy_share"] = profile.copies;
  members["gpu_busy_share"] = profile.busy;
  return {};
}

/// The plan of the grid's level, else of the finest one.
LevelPlan const& level_at(TrainOptions const& options, Grid3 const& grid) {
  auto const found = std::find_if(options.levels.begin(), options.levels.end(),
                                  [&](auto const& level) { return level.grid == grid; });
  return found == options.levels.end() ? options.levels.back() : *found;
}

/// What the first contender alone was expected to hold and send, and held at most.
struct StepBytes {
  std::int64_t predicted = 0;
  std::int64_t peak = 0;
  Calls sent{};  ///< expected
};

/// All that take turns, each with its first steps behind it.
/// @param comm  what they compute with
std::vector<Contender> contenders_of(BenchOptions const& o, TrainOptions const& options,
                                     Grid3 const& grid, std::int64_t batch,
                                     ClockedCommunicator& comm, StepBytes& bytes) {
  MemoryFrame const frame = memory_frame(o.config, o.comm, o.device_memory);
  auto const memory = trial_memory(o.comm, frame);
  LevelPlan level{.grid = grid, .batch = batch, .optimizer = level_at(options, grid).optimizer};
  level.recompute = recomputes(o.config, options, level, memory, frame.limit);
  std::vector<Contender> contenders;
  auto const enter = [&](std::string const& prefix, TrainOptions chosen,
                         std::string const& reduction) {
    chosen.reduction = parse_reduction(reduction);
    auto const planned =
        require_memory(chosen, level, memory, frame.limit, "a step at " + grid.label());
    StepTrial::Variant const variant{batch, level.optimizer, chosen.reduction, level.recompute};
    contenders.push_back({prefix, std::make_unique<StepTrial>(chosen, grid, variant, comm)});
    if (o.reads_samples)
      contenders.back().trial->read(TrainingData(options).training({.plan = level}));
    contenders.back().waiting = std::make_unique<WaitingCount>(o.comm);
    warm_up(contenders.back(), comm);
    if (contenders.size() > 1) return;
    bytes = {planned.bytes, largest_of(o.comm, peak_bytes(o.device)), planned.sent()};
  };
  for (auto const& name : o.reductions) {
    enter(o.reductions.size() == 1 ? "" : name + "_", options, name);
  }
  if (o.with_baseline) enter("baseline_", baseline_of(options), o.reductions.front());
  return contenders;
}

}  // namespace

BenchResult bench_step(BenchOptions const& o) {
  VOXCYCLE_REQUIRE(!o.reductions.empty(),
                   "--reduction is empty. Choose exact, fast or exact,fast.");
  auto options = train_options(o.config);
  options.device = o.device;
  warn_of_slow_precision(options, o.comm);
  Grid3 const grid = level_grid(o.config, o.grid.value_or(32));
  require_spatial(options, grid, o.comm.size());
  std::int64_t const batch = o.batch.value_or(8);
  StepBytes bytes;
  ClockedCommunicator clocked(o.device_comm);
  auto contenders = contenders_of(o, options, grid, batch, clocked, bytes);
  auto const& first = contenders.front();
  std::int64_t const rounds = rounds_of(o, *first.trial);
  take_turns(contenders, rounds, o.comm, clocked);

  auto members = Json::object({{"bench", "step"},
                               {"grid", grid.level()},
                               {"batch", batch},
                               {"device", o.device_name},
                               {"precision", o.config.text("train.precision")},
                               {"processes", o.comm.size()},
                               {"processes_a_sample", options.slabs.processes(grid)},
                               {"threads", at::get_num_threads()},
                               {"repeats", rounds},
                               {"parameters", first.trial->parameters()},
                               {"first_loss", first.first_loss}});
  auto const add = [&](std::string const& name, double value) { members[name] = value; };
  for (auto const& contender : contenders) {
    add(contender.prefix + "seconds_median", contender.seconds);
    for (auto const& [part, seconds] : contender.parts.named()) {
      add(contender.prefix + part + "_share", seconds / contender.parts.total());
    }
    auto const [waiting, exchange] = sum_shares(contender, o.comm);
    add(contender.prefix + "waiting_share", waiting);
    add(contender.prefix + "exchange_share", exchange);
    add(contender.prefix + "overlapped_share", contender.trial->overlapped_share());
  }
  if (o.reductions.size() == 2) add("ratio", first.seconds / contenders[1].seconds);
  if (o.with_baseline) add("speedup", contenders.back().seconds / first.seconds);
  members["operators"] = first.counts.operators;
  members["copies"] = first.counts.copies;
  members["host_waits"] = first.counts.host_waits;
  std::string problem;
  if (!o.profile.empty()) problem = add_profile(o, *first.trial, members);
  members["peak_bytes"] = bytes.peak;
  members["predicted_bytes"] = bytes.predicted;
  if (o.comm.size() > 1) {
    members["collective_calls"] = largest_of(o.comm, first.sent.count);
    members["sent_bytes"] = largest_of(o.comm, first.sent.bytes);
    members["predicted_collective_calls"] = bytes.sent.count;
    members["predicted_sent_bytes"] = bytes.sent.bytes;
  }
  return {members, problem};
}

}  // namespace voxcycle
