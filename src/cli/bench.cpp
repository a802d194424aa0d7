// SPDX-License-Identifier: BSD-3-Clause
// voxcycle bench: medians of repeated runs, and ratios measured side by side in the same run.
#include "cli/bench.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/timer.hpp"
#include "voxcycle/train/train_step.hpp"

#include <algorithm>
#include <cstdio>

#include "cli/options.hpp"
#include "cli/step_trial.hpp"
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

namespace voxcycle {

std::int64_t bench_number(Invocation const& call, std::string const& name, std::int64_t otherwise) {
  if (!call.has(name)) return otherwise;
  auto const value = std::atoll(call.flags.at(name).c_str());
  VOXCYCLE_REQUIRE(value > 0,
                   "--" << name << " '" << call.flags.at(name) << "' is no positive number.");
  return value;
}

int bench_report(Invocation const& call, std::string const& json) {
  if (call.comm.rank() != 0) return 0;
  std::printf("%s\n", json.c_str());
  if (call.has("json")) write_file_atomically(call.flags.at("json"), json + "\n");
  return 0;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

namespace {

constexpr int kRepeats = 11;

template <class Work>
double seconds_of(Work const& work) {
  Timer const timer;
  work();
  return timer.seconds();
}

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
  for (int k = 0; k < kRepeats + 2; ++k) {
    for (std::size_t v = 0; v < variants.size(); ++v) {
      call.comm.barrier();
      StepTimes times;
      double const taken = seconds_of([&] { times = variants[v]->step(); });
      if (k < 2) continue;
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
      kRepeats);
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

/// Each loss on random fields, unit by unit as the step does, against the default one.
int bench_loss(Invocation const& call) {
  auto const options = train_options(call.config);
  std::int64_t const n = bench_number(call, "grid", 32);
  std::int64_t const batch = bench_number(call, "batch", 8);
  auto const dtype = options.dtype == at::kDouble ? at::kDouble : at::kFloat;
  LossProblem const problem{Grid3::cube(n), options.boundary, options.source};
  auto const names = loss_names();
  std::vector<std::unique_ptr<Loss>> losses;
  for (auto const& name : names) losses.push_back(make_loss(name, problem));
  std::vector<LossInput> units;
  for (auto const& unit : units_of_rank(batch, options.unit_size, 1, 0)) {
    at::Tensor const u = at::rand({unit.size(), 1, n + 1, n + 1, n + 1}, dtype);
    at::Tensor const nu = at::rand({unit.size(), 1, n, n, n}, dtype) + 0.5;
    units.push_back({u, nu, at::rand_like(nu), at::rand_like(u)});
  }
  std::vector<std::vector<double>> seconds(losses.size());
  for (int k = 0; k < kRepeats + 2; ++k) {
    for (std::size_t l = 0; l < losses.size(); ++l) {
      double const taken = seconds_of([&] {
        for (auto const& unit : units) losses[l]->evaluate(unit);
      });
      if (k >= 2) seconds[l].push_back(taken);
    }
  }
  auto const standard = std::find(names.begin(), names.end(), "energy_normalised") - names.begin();
  double const unity = median(seconds[static_cast<std::size_t>(standard)]);
  std::string json = format(
      "{\"bench\": \"loss\", \"grid\": %ld, \"batch\": %ld, "
      "\"precision\": \"%s\", \"threads\": %d, \"repeats\": %d",
      static_cast<long>(n), static_cast<long>(batch), dtype == at::kDouble ? "f64" : "f32",
      at::get_num_threads(), kRepeats);
  for (std::size_t l = 0; l < losses.size(); ++l) {
    double const taken = median(seconds[l]);
    json += format(", \"%s_seconds_median\": %.6g, \"%s_ratio\": %.3g", names[l].c_str(), taken,
                   names[l].c_str(), taken / unity);
  }
  return bench_report(call, json + "}");
}

int bench(Invocation const& call) {
  auto const subject = call.has("subject") ? call.flags.at("subject") : std::string();
  if (subject == "energy") return bench_energy(call);
  if (subject == "step") return bench_step(call);
  if (subject == "loss") return bench_loss(call);
  if (subject == "reference") return bench_reference(call);
  throw Error("bench '" + subject + "' is unknown. Choose energy, step, loss or reference.");
}

}  // namespace

Command bench_command() {
  return {"bench",
          "medians and ratios within one run (precision: --train.precision)",
          {{"grid", "N", "voxels an axis (default: energy and reference 128, step and loss 32)"},
           {"batch", "N", "step, loss: global batch (default: 8)"},
           {"reduction", "LIST", "step: exact, fast or exact,fast (side by side)"},
           {"device", "NAME", "energy: cpu (default) or cuda"},
           {"field", "NAME", "reference: only fields whose names begin so"},
           {"json", "FILE", "where the line goes as well"}},
          bench,
          {"energy", "step", "loss", "reference"}};
}

}  // namespace voxcycle
