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
  for (int k = 0; k < kBenchWarmUps + kBenchRepeats; ++k) {
    for (std::size_t v = 0; v < variants.size(); ++v) {
      call.comm.barrier();
      StepTimes times;
      double const taken = seconds_of([&] { times = variants[v]->step(); });
      if (k < kBenchWarmUps) continue;
      seconds[v].push_back(taken);
      parts[v] += times;
    }
  }
  std::string json = format(
      "{\"bench\": \"step\", \"grid\": %ld, \"batch\": %ld, "
      "\"precision\": \"%s\", \"processes\": %d, \"threads\": %d, "
      "\"repeats\": %d",
      static_cast<long>(grid.voxels[0]), static_cast<long>(batch),
      call.config.text("train.precision").c_str(), call.comm.size(), at::get_num_threads(),
      kBenchRepeats);
  for (std::size_t v = 0; v < variants.size(); ++v) {
    std::string const prefix = variants.size() == 1 ? "" : names[v] + "_";
    json += format(", \"%sseconds_median\": %.6g, \"%sreduction_share\": %.3g", prefix.c_str(),
                   median(seconds[v]), prefix.c_str(), parts[v].reduction / parts[v].total());
  }
  if (variants.size() == 2) {
    json += format(", \"ratio\": %.4g", median(seconds[0]) / median(seconds[1]));
  }
  return bench_report(call, json + "}");
}

}  // namespace voxcycle
