// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/median.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "cli/bench.hpp"
#include "cli/options.hpp"
#include "cli/step_trial.hpp"
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

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
                   "--reduction '" << name << "' is unknown. Choose exact, fast or both.");
  return name == "exact" ? GradientMode::exact : GradientMode::fast;
}

/// The same network, options and data as everybody's: torch's default layout and float32.
TrainOptions baseline_of(TrainOptions options) {
  options.dtype = at::kFloat;
  options.layout = at::MemoryFormat::Contiguous;
  return options;
}

void take_turns(std::vector<Contender>& contenders, Communicator const& comm) {
  for (int k = 0; k < kBenchWarmUps + kBenchRepeats; ++k) {
    for (auto& contender : contenders) {
      comm.barrier();
      StepResult result;
      double const taken = seconds_of([&] { result = contender.trial->step(); });
      if (k == 0) contender.first_loss = result.loss;
      if (k < kBenchWarmUps) continue;
      contender.seconds.push_back(taken);
      contender.parts += result.times;
    }
  }
}

void add_shares(Contender const& contender, json::Members& members) {
  for (auto const& [name, seconds] : contender.parts.named()) {
    members.emplace_back(contender.prefix + name + "_share",
                         json::number(seconds / contender.parts.total()));
  }
}

}  // namespace

int bench_step(Invocation const& call) {
  auto const names =
      split_list(call.has("reduction") ? call.flags.at("reduction") : std::string("exact"));
  auto const options = train_options(call.config);
  Grid3 const grid = Grid3::cube(bench_number(call, "grid", 32));
  StepTrial::Variant variant{.batch = bench_number(call, "batch", 8),
                             .optimizer = options.optimizer.name};
  std::vector<Contender> contenders;
  for (auto const& name : names) {
    variant.reduction = parse_reduction(name);
    contenders.push_back({names.size() == 1 ? "" : name + "_",
                          std::make_unique<StepTrial>(options, grid, variant, call.comm)});
  }
  bool const with_baseline = !call.has("no-baseline");
  if (with_baseline) {
    variant.reduction = parse_reduction(names.front());
    contenders.push_back(
        {"baseline_", std::make_unique<StepTrial>(baseline_of(options), grid, variant, call.comm)});
  }
  take_turns(contenders, call.comm);

  auto const& first = contenders.front();
  json::Members members{{"bench", json::text("step")},
                        {"grid", std::to_string(grid.voxels[0])},
                        {"batch", std::to_string(variant.batch)},
                        {"precision", json::text(call.config.text("train.precision"))},
                        {"processes", std::to_string(call.comm.size())},
                        {"threads", std::to_string(at::get_num_threads())},
                        {"repeats", std::to_string(kBenchRepeats)},
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
  return bench_report(call, members);
}

}  // namespace voxcycle
