// SPDX-License-Identifier: BSD-3-Clause
// voxcycle evaluate: errors of a trained network against the references; table, CSV, JSON, report.
#include "voxcycle/cli/command.hpp"
#include "voxcycle/comm/device_choice.hpp"
#include "voxcycle/config/memory_check.hpp"
#include "voxcycle/config/model.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/build_info.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/printable.hpp"
#include "voxcycle/core/status_line.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/usage_error.hpp"
#include "voxcycle/evaluate/compare.hpp"
#include "voxcycle/evaluate/evaluation.hpp"
#include "voxcycle/evaluate/report.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/study/ensemble_plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "cli/evaluate_ensemble.hpp"
#include "cli/evaluate_parts.hpp"

namespace voxcycle {
namespace {

constexpr std::size_t kRowsOnTerminal = 8;

/// e.g. "steps 100, 200; seconds 60"
std::string budget_text(Config const& config) {
  std::vector<std::string> limits;
  for (std::string const limit : {"steps", "epochs", "seconds"}) {
    auto const& value = config.text("cycle." + limit);
    if (value != "0") limits.push_back(limit + " " + value);
  }
  return join(limits, "; ");
}

/// @param samples  of the evaluation, which may be of another family than those of the training
ReportInput report_input(Config const& config, CheckpointHeader const& header,
                         Evaluation const& evaluation, ShardInfo const& samples) {
  TrainOptions const options = train_options(config);
  ReportInput input;
  input.title = "voxcycle: " + options.directory;
  std::string path;
  for (int level : options.path) {
    path +=
        (path.empty() ? "" : " → ") + options.levels[static_cast<std::size_t>(level)].grid.label();
  }
  input.summary = {
      {"equation", "-div(nu grad u) = f; f: " + to_string(options.source) +
                       "; faces x-, x+, y-, y+, z-, z+: " + to_string(options.boundary)},
      {"trained on", make_family(family_options(config))->signature()},
      {"cycle", config.text("cycle.name") + ": " + path},
      {"budget", budget_text(config) + ", batches of " + config.text("cycle.batch")},
      {"network", describe_network(config)},
      {"training", options.loss + ", " + config.text("train.optimizer") + ", " +
                       config.text("train.precision") + ", reduction " +
                       config.text("train.reduction")},
      {"weights", "averages in " + evaluation.weights},
      {"training time",
       format_seconds(header.seconds) + (header.finished ? "" : " up to these weights")},
      {"held-out samples", std::to_string(evaluation.samples.size()) + " of " + samples.family +
                               " at " + evaluation.grid + ", network in " + evaluation.precision +
                               ", references by " + samples.reference_solver +
                               "-preconditioned conjugate gradients to " +
                               format("%g", samples.reference_tolerance)},
      {"before training",
       evaluation.untrained
           ? "energy-norm error " + format_percent(evaluation.untrained->energy_norm_error) +
                 ", relative L2 " + format_percent(evaluation.untrained->rel_l2) + "; after it " +
                 format_percent(evaluation.energy_norm_error_mean) + " and " +
                 format_percent(evaluation.rel_l2_mean)
           : "the weights of " + options.start},
      {"program",
       std::string("voxcycle ") + build_info::version + ", commit " + build_info::commit},
  };
  input.metrics = metrics_from_csv(header.metrics);
  input.grid = evaluation.grid;
  input.errors = evaluation.samples;
  input.config = config.dump();
  return input;
}

void warn_of_divergence(Evaluation const& evaluation) {
  auto const broken = std::count_if(evaluation.samples.begin(), evaluation.samples.end(),
                                    [](auto const& sample) { return std::isinf(badness(sample)); });
  if (broken > 0) {
    log_warning(
        format("the network's solutions of %ld samples are not finite: its training "
               "diverged, or --precision %s is too coarse for it.",
               static_cast<long>(broken), evaluation.precision.c_str()));
  }
}

/// All of them, or none: files in one directory are of the same weights.
void write_results(Outputs const& out, Evaluation const& evaluation, std::string const& report) {
  std::vector<std::pair<std::string, std::string>> contents{{out.json, evaluation_json(evaluation)},
                                                            {out.csv, evaluation_csv(evaluation)}};
  if (!out.compare.empty()) {
    contents.emplace_back(out.compare, comparison_csv(*evaluation.comparison));
  }
  if (!out.report.empty()) contents.emplace_back(out.report, report);
  write_files_atomically(contents);
  std::vector<std::string> files;
  for (auto const& file : out.all()) files.push_back(file.second);
  print("written: %s\n", join(files).c_str());
}

/// As in training, for one grid; one process has samples as a whole.
ProcessGrid process_grid_of(Invocation const& call, TrainOptions const& options,
                            Grid3 const& grid) {
  if (call.comm.size() == 1) return {call.comm};
  require_spatial(options, grid, call.comm.size());
  VOXCYCLE_REQUIRE_USAGE(!call.has("compare") || !options.slabs.cut(grid),
                         "--compare is for processes that have whole samples. Leave out "
                         "run.spatial_processes.");
  return ProcessGrid(call.comm, options.slabs).on(grid);
}

int evaluate(Invocation const& asked) {
  auto const dtype = parse_precision("--precision", asked.text("precision", "f32"));
  DeviceChoice const place(device_options(asked.config, dtype), asked.comm);
  Invocation const call = with_spatial_processes(asked, place);
  if (is_ensemble(call.config)) return evaluate_members(call, dtype, place);
  auto const options = train_options(call.config);
  Weights const weights(call, options, dtype);
  Grid3 const grid = evaluated_grid(call);
  require_fits(options.network, grid);
  auto const split = split_of(call);
  auto const shards = shards_of(call, split, grid);
  auto const out = outputs_of(call, options.directory, {weights.path}, grid, split == "held_out");
  require_shards(dataset_options(call.config), split, grid);
  ProcessGrid const process_grid = process_grid_of(call, options, grid);
  constexpr double bytes_per_voxel = 130.0;  // as solve with a model
  if (place.device().is_cpu()) {
    require_field_memory(
        call.config, call.comm, "to evaluate at " + grid.label(),
        bytes_per_voxel *
            static_cast<double>(on_planes(grid, process_grid.planes(grid)).voxel_count()) *
            static_cast<double>(options.micro_batch_size));
  }
  auto const samples = held_out_samples(shards, process_grid.planes(grid));
  Network& network = *weights.network;
  network.to(place.device());
  auto const visible = call.comm.rank() == 0 ? StatusLine::Visible::yes : StatusLine::Visible::no;
  HeldOutOptions how{.dtype = dtype, .micro_batch_size = options.micro_batch_size};
  auto const measured = [&](char const* what, auto const& work) {
    ShareLine line(visible, what);
    how.after_share = [&](double share) { line.show(share); };
    return work();
  };
  auto evaluation =
      measured("evaluating", [&] { return evaluate_network(process_grid, network, samples, how); });
  auto first = train_options(weights.written);
  first.device = place.device();
  evaluation.untrained = measured(
      "untrained weights", [&] { return untrained_errors(process_grid, first, samples, how); });
  evaluation.weights = weights.name(options.directory);
  evaluation.split = split;
  std::vector<SamplePictures> pictures;
  if (!out.report.empty() && process_grid.group() == 0) {
    pictures = pictures_of_samples(process_grid, network, samples, evaluation, dtype);
  }
  if (call.comm.rank() != 0) return 0;

  warn_of_divergence(evaluation);
  print("%s at %s, averaged weights, %s on %s\n%s", samples_of(split).c_str(), grid.label().c_str(),
        evaluation.precision.c_str(), place.name().c_str(),
        evaluation_table(evaluation, kRowsOnTerminal).c_str());
  if (evaluation.untrained) {
    auto const gain = gain_of(evaluation.grid, evaluation.untrained->energy_norm_error,
                              evaluation.energy_norm_error_mean);
    gain.gained ? static_cast<void>(print("%s\n", gain.text.c_str())) : log_warning(gain.text);
  }
  if (call.has("compare")) {
    ShareLine line(visible, "comparing");
    evaluation.comparison =
        compare_methods(call.comm, network, samples,
                        {.boundary = options.boundary,
                         .source = options.source,
                         .dtype = dtype,
                         .device = place.name(),
                         .after_share = [&](double share) { line.show(share); }});
    line.erase();
    print("\n%s\n", comparison_table(*evaluation.comparison).c_str());
  }
  std::string report;
  if (!out.report.empty()) {
    auto input = report_input(weights.written, weights.checkpoint.header(), evaluation,
                              ShardSet(shards).info());
    input.comparison = evaluation.comparison;
    input.samples = std::move(pictures);
    report = render_report(input);
  }
  write_results(out, evaluation, report);
  return 0;
}

}  // namespace

Command evaluate_command() {
  return {"evaluate",
          "errors on held-out samples: table, CSV, JSON and report.html",
          {{"json", "FILE", "where the JSON goes (default: evaluation.json in run.directory)"},
           {"checkpoint", "FILE", "weights to evaluate (default: run.directory's)"},
           {"grid", "N",
            "voxels along the longest edge (default: the finest level of the cycle); others get "
            "files of their own"},
           {"split", "NAME", "held_out (default), or train: samples that have references"},
           {"precision", "KIND", "of convolutions and activations: bf16, f16, f32 (default), f64"},
           {"compare", "",
            "error against time beside classical solvers: the first 16 samples, on one process"}},
          evaluate};
}

}  // namespace voxcycle
