// SPDX-License-Identifier: BSD-3-Clause
// voxcycle bench: medians of repeated runs, and ratios measured side by side in the same run.
#include "cli/bench.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/median.hpp"
#include "voxcycle/core/parallel.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/train/loss.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "cli/options.hpp"
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

namespace {

/// Energy and gradient against a copy of the same bytes: u and nu read, gradient written.
int bench_energy(Invocation const& call) {
  std::int64_t const n = bench_number(call, "grid", 128);
  auto const dtype = call.config.text("train.precision") == "f64" ? at::kDouble : at::kFloat;
  Grid3 const grid = Grid3::cube(n);
  at::Tensor const u = at::rand({1, 1, n + 1, n + 1, n + 1}, dtype);
  at::Tensor const nu = at::rand({1, 1, n, n, n}, dtype) + 0.5;
  std::int64_t const bytes = u.nbytes() + nu.nbytes() + u.nbytes();
  // A copy of half the bytes reads them once and writes them once: the same traffic.
  at::Tensor const from = at::ones({bytes / 2}, at::kByte);
  at::Tensor const to = at::ones({bytes / 2}, at::kByte);
  auto* target = static_cast<char*>(to.mutable_data_ptr());
  auto const* source = static_cast<char const*>(from.const_data_ptr());
  std::vector<double> kernel;
  std::vector<double> copy;
  for (int k = 0; k < kBenchWarmUps + kBenchRepeats; ++k) {
    double const a = seconds_of([&] { energy_and_gradient(u, nu, grid); });
    double const b = seconds_of([&] {
      parallel_for(bytes / 2, 1, [&](std::int64_t begin, std::int64_t end) {
        std::memcpy(target + begin, source + begin, static_cast<std::size_t>(end - begin));
      });
    });
    if (k < kBenchWarmUps) continue;
    kernel.push_back(a);
    copy.push_back(b);
  }
  return bench_report(call, format("{\"bench\": \"energy\", \"grid\": %ld, \"precision\": \"%s\", "
                                   "\"threads\": %d, \"repeats\": %d, \"seconds_median\": %.6g, "
                                   "\"copy_seconds_median\": %.6g, \"ratio_to_copy\": %.4g}",
                                   static_cast<long>(n), dtype == at::kDouble ? "f64" : "f32",
                                   at::get_num_threads(), kBenchRepeats, median(kernel),
                                   median(copy), median(kernel) / median(copy)));
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
  for (int k = 0; k < kBenchWarmUps + kBenchRepeats; ++k) {
    for (std::size_t l = 0; l < losses.size(); ++l) {
      double const taken = seconds_of([&] {
        for (auto const& unit : units) losses[l]->evaluate(unit);
      });
      if (k >= kBenchWarmUps) seconds[l].push_back(taken);
    }
  }
  auto const standard = std::find(names.begin(), names.end(), "energy_normalised") - names.begin();
  double const unity = median(seconds[static_cast<std::size_t>(standard)]);
  std::string json = format(
      "{\"bench\": \"loss\", \"grid\": %ld, \"batch\": %ld, "
      "\"precision\": \"%s\", \"threads\": %d, \"repeats\": %d",
      static_cast<long>(n), static_cast<long>(batch), dtype == at::kDouble ? "f64" : "f32",
      at::get_num_threads(), kBenchRepeats);
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
  if (subject == "conv") return bench_conv(call);
  if (subject == "reference") return bench_reference(call);
  throw Error("bench '" + subject + "' is unknown. Choose energy, step, loss, conv or reference.");
}

}  // namespace

Command bench_command() {
  return {"bench",
          "medians and ratios within one run (precision: --train.precision)",
          {{"grid", "N", "voxels an axis (default: energy and reference 128, others 32)"},
           {"batch", "N", "step, loss: global batch (default: 8); conv: samples (default: 2)"},
           {"channels", "N", "conv: channels (default: 16)"},
           {"reduction", "LIST", "step: exact, fast or exact,fast (side by side)"},
           {"no-baseline", "", "step: no step in torch's default layout and float32 beside it"},
           {"field", "NAME", "reference: only fields whose names begin so"},
           {"json", "FILE", "where the line goes as well"}},
          bench,
          {"energy", "step", "loss", "conv", "reference"}};
}

}  // namespace voxcycle
