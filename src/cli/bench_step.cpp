// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/device_choice.hpp"
#include "voxcycle/comm/largest.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/median.hpp"
#include "voxcycle/core/memory.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/bench.hpp"
#include "cli/memory_check.hpp"
#include "cli/slow_precision.hpp"
#include "cli/step_profile.hpp"
#include "cli/step_trial.hpp"
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
  std::vector<double> seconds{};
  StepTimes parts{};
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

void warm_up(Contender& contender) {
  for (int k = 0; k < kBenchWarmUps; ++k) {
    double const loss = contender.trial->step().loss;
    if (k == 0) contender.first_loss = loss;
  }
}

/// Unless --repeats tells: fewer rounds of steps that take long, the same number on all ranks.
std::int64_t rounds_of(Invocation const& call, StepTrial& trial) {
  if (call.has("repeats")) return bench_repeats(call);
  constexpr double max_seconds = 60.0;
  double const step = seconds_of([&] { trial.step(); });
  auto const fitting = static_cast<std::int64_t>(max_seconds / step);
  return -largest_of(call.comm, -std::clamp<std::int64_t>(fitting, 1, bench_repeats(call)));
}

void take_turns(std::vector<Contender>& contenders, std::int64_t rounds, Communicator const& comm) {
  for (std::int64_t k = 0; k < rounds; ++k) {
    for (auto& contender : contenders) {
      comm.barrier();
      StepResult result;
      contender.seconds.push_back(seconds_of([&] { result = contender.trial->step(); }));
      contender.parts += result.times;
    }
  }
}

/// The most that this process held there so far.
std::int64_t peak_bytes(at::Device device) {
  if (device.is_cpu()) return resident_peak_bytes();
  auto const total = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  auto const stats = c10::getDeviceAllocator(device.type())->getDeviceStats(device.index());
  return stats.reserved_bytes[total].peak;
}

void add_shares(Contender const& contender, json::Members& members) {
  for (auto const& [name, seconds] : contender.parts.named()) {
    members.emplace_back(contender.prefix + name + "_share",
                         json::number(seconds / contender.parts.total()));
  }
}

/// Of one more step, which all ranks make and rank 0 looks at.
/// @return why there is no profile, or "": what was measured before is to be told all the same
std::string add_profile(Invocation const& call, StepTrial& trial, DeviceChoice const& place,
                        json::Members& members) {
  if (call.comm.rank() != 0) {
    trial.step();
    return {};
  }
  Profile profile;
  try {
    profile = profile_of([&] { trial.step(); }, place.device(), call.flags.at("profile"));
  } catch (Error const& error) {
    return error.what();
  }
  members.emplace_back("profiled_seconds", json::number(profile.seconds));
  members.emplace_back("convolution_share", json::number(profile.convolutions));
  if (place.device().is_cpu()) return {};
  members.emplace_back("own_kernel_share", json::number(profile.own_kernels));
  members.emplace_back("copy_share", json::number(profile.copies));
  members.emplace_back("gpu_busy_share", json::number(profile.busy));
  return {};
}

/// The plan of the grid's level, else of the finest one.
LevelPlan const& level_at(TrainOptions const& options, Grid3 const& grid) {
  auto const found = std::find_if(options.levels.begin(), options.levels.end(),
                                  [&](auto const& level) { return level.grid == grid; });
  return found == options.levels.end() ? options.levels.back() : *found;
}

}  // namespace

int bench_step(Invocation const& call) {
  auto const names =
      split_list(call.has("reduction") ? call.flags.at("reduction") : std::string("exact"));
  VOXCYCLE_REQUIRE(!names.empty(), "--reduction is empty. Choose exact, fast or exact,fast.");
  DeviceChoice place(device_options(call.config), call.comm);
  auto options = train_options(call.config);
  options.device = place.device();
  warn_of_slow_precision(options, call.comm);
  Grid3 const grid = level_grid(call.config, bench_number(call, "grid", 32));
  require_spatial(options, grid, call.comm.size());
  MemoryFrame const frame = memory_frame(call.config, call.comm, place.memory());
  StepTrial::Variant variant{.batch = bench_number(call, "batch", 8),
                             .optimizer = level_at(options, grid).optimizer};
  LevelPlan level{.grid = grid, .batch = variant.batch, .optimizer = variant.optimizer};
  level.recompute =
      recomputes(call.config, options, level, trial_memory(call.comm, frame), frame.limit);
  variant.recompute = level.recompute;
  std::int64_t predicted = 0, peak = 0;  // of the first alone
  std::vector<Contender> contenders;
  auto const enter = [&](std::string const& prefix, TrainOptions chosen) {
    chosen.reduction = variant.reduction;
    auto const planned = require_memory(chosen, level, trial_memory(call.comm, frame), frame.limit,
                                        "a step at " + grid.label());
    contenders.push_back(
        {prefix, std::make_unique<StepTrial>(chosen, grid, variant, place.comm())});
    warm_up(contenders.back());
    if (contenders.size() > 1) return;
    predicted = planned.bytes;
    peak = largest_of(call.comm, peak_bytes(place.device()));
  };
  for (auto const& name : names) {
    variant.reduction = parse_reduction(name);
    enter(names.size() == 1 ? "" : name + "_", options);
  }
  bool const with_baseline = !call.has("no-baseline");
  if (with_baseline) {
    variant.reduction = parse_reduction(names.front());
    enter("baseline_", baseline_of(options));
  }
  std::int64_t const rounds = rounds_of(call, *contenders.front().trial);
  take_turns(contenders, rounds, call.comm);

  auto const& first = contenders.front();
  json::Members members{{"bench", json::text("step")},
                        {"grid", std::to_string(grid.level())},
                        {"batch", std::to_string(variant.batch)},
                        {"device", json::text(place.name())},
                        {"precision", json::text(call.config.text("train.precision"))},
                        {"processes", std::to_string(call.comm.size())},
                        {"processes_a_sample", std::to_string(options.slabs.processes(grid))},
                        {"threads", std::to_string(at::get_num_threads())},
                        {"repeats", std::to_string(rounds)},
                        {"parameters", std::to_string(first.trial->parameters())},
                        {"first_loss", json::number(first.first_loss)}};
  for (auto const& contender : contenders) {
    members.emplace_back(contender.prefix + "seconds_median",
                         json::number(median(contender.seconds)));
    add_shares(contender, members);
  }
  if (names.size() == 2) {
    members.emplace_back("ratio",
                         json::number(median(first.seconds) / median(contenders[1].seconds)));
  }
  if (with_baseline) {
    members.emplace_back("speedup",
                         json::number(median(contenders.back().seconds) / median(first.seconds)));
  }
  std::string problem;
  if (call.has("profile")) problem = add_profile(call, *contenders.front().trial, place, members);
  members.emplace_back("peak_bytes", std::to_string(peak));
  members.emplace_back("predicted_bytes", std::to_string(predicted));
  int const status = bench_report(call, members);
  call.comm.agree_on_error(problem);
  return status;
}

}  // namespace voxcycle
