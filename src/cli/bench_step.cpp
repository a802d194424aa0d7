// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/median.hpp"
#include "voxcycle/core/text.hpp"

#include <memory>
#include <vector>

#include "cli/bench.hpp"
#include "cli/options.hpp"
#include "cli/step_trial.hpp"
#include <ATen/Parallel.h>

namespace voxcycle {

int bench_step(Invocation const& call) {
  auto const names =
      split_list(call.has("reduction") ? call.flags.at("reduction") : std::string("exact"));
  auto const options = train_options(call.config);
  Grid3 const grid = Grid3::cube(bench_number(call, "grid", 32));
  std::int64_t const batch = bench_number(call, "batch", 8);
  std::vector<std::unique_ptr<StepTrial>> variants;
  for (auto const& name : names) {
    VOXCYCLE_REQUIRE(name == "exact" || name == "fast",
                     "--reduction '" << name << "' is unknown. Choose exact, fast or both.");
    StepTrial::Variant const variant{
        .batch = batch,
        .optimizer = options.optimizer.name,
        .reduction = name == "exact" ? GradientMode::exact : GradientMode::fast};
    variants.push_back(std::make_unique<StepTrial>(options, grid, variant, call.comm));
  }
  std::vector<std::vector<double>> seconds(variants.size());
  std::vector<StepTimes> parts(variants.size());
  for (int k = 0; k < kBenchRepeats + kBenchWarmUps; ++k) {
    for (std::size_t v = 0; v < variants.size(); ++v) {
      call.comm.barrier();
      StepTimes times;
      double const taken = seconds_of([&] { times = variants[v]->step(); });
      if (k < kBenchWarmUps) continue;
      seconds[v].push_back(taken);
      parts[v] += times;
    }
  }
  json::Members members{{"bench", json::text("step")},
                        {"grid", std::to_string(grid.voxels[0])},
                        {"batch", std::to_string(batch)},
                        {"precision", json::text(call.config.text("train.precision"))},
                        {"processes", std::to_string(call.comm.size())},
                        {"threads", std::to_string(at::get_num_threads())},
                        {"repeats", std::to_string(kBenchRepeats)}};
  for (std::size_t v = 0; v < variants.size(); ++v) {
    std::string const prefix = variants.size() == 1 ? "" : names[v] + "_";
    members.emplace_back(prefix + "seconds_median", json::number(median(seconds[v])));
    members.emplace_back(prefix + "reduction_share",
                         json::number(parts[v].reduction / parts[v].total()));
  }
  if (variants.size() == 2) {
    members.emplace_back("ratio", json::number(median(seconds[0]) / median(seconds[1])));
  }
  return bench_report(call, members);
}

}  // namespace voxcycle
