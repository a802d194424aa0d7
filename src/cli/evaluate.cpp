// SPDX-License-Identifier: BSD-3-Clause
// voxcycle evaluate: errors of a trained network against the references; table, CSV, JSON, report.
#include "voxcycle/cli/command.hpp"
#include "voxcycle/comm/device_choice.hpp"
#include "voxcycle/config/model.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/build_info.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/status_line.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/evaluate/compare.hpp"
#include "voxcycle/evaluate/evaluation.hpp"
#include "voxcycle/evaluate/report.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/train/agreement.hpp"
#include "voxcycle/train/averaged_weights.hpp"
#include "voxcycle/train/checkpoint.hpp"
#include "voxcycle/train/run_directory.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/output_files.hpp"

namespace voxcycle {
namespace {

constexpr std::size_t kRowsOnTerminal = 8;

/// The grid asked for by --grid N, else the finest level of the cycle.
Grid3 grid_of(Invocation const& call) {
  if (!call.has("grid")) return level_grids(call.config).back();
  auto const& text = call.flags.at("grid");
  auto const n = parse_number<std::int64_t>(text);
  VOXCYCLE_REQUIRE(
      n > 0, "--grid " << text << " is no grid. Give voxels along the longest edge, e.g. 64.");
  auto const grid = level_grid(call.config, *n);
  static_cast<void>(
      sample_count(dataset_options(call.config), "held_out", grid));  // generate makes these alone
  return grid;
}

/// Weights alone do not say which function they are: keys without tensors count, too.
/// @throws Error naming the first key of network or problem that differs.
void require_same_model(std::string const& path, Config const& written, Config const& now) {
  auto const of_model = [](Config const& config) {
    Fingerprint part;
    auto const all = settled(config).fingerprint();
    for (auto const& [key, value] : all.entries()) {
      if (key.starts_with("network.") || key.starts_with("problem.")) part.set(key, value);
    }
    return part;
  };
  auto const differing = first_difference(of_model(written), of_model(now));
  VOXCYCLE_REQUIRE(!differing, path << " was written for another network or problem ("
                                    << differing->text()
                                    << "). Use the config it was written with.");
}

std::string samples_of(std::string const& split) {
  return split == "train" ? "training samples" : "held-out samples";
}

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
                               ", references by multigrid-preconditioned conjugate gradients to " +
                               format("%g", samples.reference_tolerance)},
      {"program",
       std::string("voxcycle ") + build_info::version + ", commit " + build_info::commit},
  };
  input.metrics = metrics_from_csv(header.metrics);
  input.grid = evaluation.grid;
  input.errors = evaluation.samples;
  input.config = config.dump();
  return input;
}

/// Where the results go; empty for what is not asked for.
struct Outputs {
  std::string json, csv;
  std::string report;   ///< about samples that training never saw
  std::string compare;  ///< of --compare

  /// With what names them in errors.
  std::vector<std::pair<std::string, std::string>> all() const {
    std::vector<std::pair<std::string, std::string>> files;
    for (auto const& file : {std::pair{"--json", json}, std::pair{"evaluation.csv", csv},
                             std::pair{"compare.csv", compare}, std::pair{"report.html", report}}) {
      if (!file.second.empty()) files.emplace_back(file);
    }
    return files;
  }
};

/// In the run directory, with names of their own for grids other than the finest and for --split
/// train. @throws Error if one of them cannot be written, or is a file that is read.
Outputs outputs_of(Invocation const& call, std::string const& directory,
                   std::string const& checkpoint, Grid3 const& grid, bool held_out) {
  bool const finest = grid == level_grids(call.config).back();
  std::string const of_grid = finest ? "" : "_" + std::to_string(grid.level());
  auto const file = [&](std::string const& name, char const* kind) {
    return directory + "/" + name + of_grid + kind;
  };
  std::string const of_split = held_out ? "" : "_train";
  Outputs out;
  out.json = call.has("json") ? call.flags.at("json") : file("evaluation" + of_split, ".json");
  out.csv = file("evaluation" + of_split, ".csv");
  if (held_out) out.report = file("report", ".html");
  if (call.has("compare")) out.compare = file("compare" + of_split, ".csv");
  if (call.comm.rank() == 0) {
    require_outputs(
        call, out.all(),
        {{"the checkpoint", checkpoint}, {"the run's config", directory + "/config.cfg"}});
  }
  return out;
}

/// The averaged weights that are evaluated, in a network on the CPU.
struct Weights {
  /// @throws Error unless they are there, of the config's network and problem, and the same on all
  ///         ranks.
  Weights(Invocation const& call, TrainOptions const& options, at::ScalarType dtype)
      : path(call.has("checkpoint") ? call.flags.at("checkpoint")
                                    : checkpoint_path(options.directory)),
        checkpoint(existing(path)),
        written(with_fingerprint(call.config, checkpoint.header().fingerprint)) {
    require_same_model(path, written, call.config);
    require_units(path, checkpoint.header().fingerprint, options.boundary, options.source);
    network = make_network(options.network, options.boundary, options.source);
    if (dtype == at::kDouble) network->to(at::kDouble);
    checkpoint.restore_average(*network);
    // Copies on several machines, or a training under way, would let ranks evaluate others.
    require_agreement(call.comm, {{"weights of " + path, tensors_hash(all_values(*network))}});
  }

  /// For people: of the run's directory the file's name alone.
  std::string name(std::string const& directory) const {
    std::filesystem::path const weights(path);
    bool const is_of_run = weights.parent_path() == std::filesystem::path(directory);
    return is_of_run ? weights.filename().string() : path;
  }

  std::string path;
  CheckpointReader checkpoint;
  Config written;  ///< with; keys that the checkpoint does not know had no other value
  std::shared_ptr<Network> network;

 private:
  static std::string const& existing(std::string const& path) {
    VOXCYCLE_REQUIRE(std::filesystem::exists(path),
                     path << " does not exist. Train first (voxcycle train), or name another with "
                             "--checkpoint.");
    return path;
  }
};

std::string split_of(Invocation const& call) {
  std::string const split = call.has("split") ? call.flags.at("split") : "held_out";
  VOXCYCLE_REQUIRE(split == "held_out" || split == "train",
                   "--split " << split << " is no split. Choose held_out or train.");
  return split;
}

/// The directory of the samples' shards.
std::string shards_of(Invocation const& call, std::string const& split, Grid3 const& grid) {
  auto const shards = shard_directory(call.config.text("data.directory"), split, grid);
  VOXCYCLE_REQUIRE(
      split == "held_out" || !dataset_options(call.config).on_the_fly ||
          std::filesystem::exists(shards),
      "--split train: the training samples are made on the fly, without references. Set "
      "data.on_the_fly = no, data.train_references = yes and another data.directory, and run "
      "voxcycle generate.");
  return shards;
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
  if (!out.compare.empty()) {
    write_file_atomically(out.compare, comparison_csv(*evaluation.comparison));
  }
  write_file_atomically(out.json, evaluation_json(evaluation));
  write_file_atomically(out.csv, evaluation_csv(evaluation));
  if (!out.report.empty()) write_file_atomically(out.report, report);
  std::vector<std::string> files;
  for (auto const& file : out.all()) files.push_back(file.second);
  std::printf("written: %s\n", join(files).c_str());
}

int evaluate(Invocation const& call) {
  DeviceChoice const place(device_options(call.config), call.comm);
  auto const options = train_options(call.config);
  auto const dtype = parse_precision(
      "--precision", call.has("precision") ? call.flags.at("precision") : std::string("f32"));
  Weights const weights(call, options, dtype);
  Grid3 const grid = grid_of(call);
  require_fits(options.network, grid);
  auto const split = split_of(call);
  auto const shards = shards_of(call, split, grid);
  auto const out = outputs_of(call, options.directory, weights.path, grid, split == "held_out");
  require_shards(dataset_options(call.config), split, grid);
  auto const samples = held_out_samples(shards);
  Network& network = *weights.network;
  network.to(place.device());
  auto const visible = call.comm.rank() == 0 ? StatusLine::Visible::yes : StatusLine::Visible::no;
  auto evaluation = [&] {
    ShareLine line(visible, "evaluating");
    return evaluate_network(call.comm, network, samples,
                            {.dtype = dtype,
                             .micro_batch_size = options.micro_batch_size,
                             .after_share = [&](double share) { line.show(share); }});
  }();
  evaluation.weights = weights.name(options.directory);
  evaluation.split = split;
  if (call.comm.rank() != 0) return 0;

  warn_of_divergence(evaluation);
  std::printf("%s at %s, averaged weights, %s on %s\n%s", samples_of(split).c_str(),
              grid.label().c_str(), evaluation.precision.c_str(), place.name().c_str(),
              evaluation_table(evaluation, kRowsOnTerminal).c_str());
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
    std::printf("\n%s\n", comparison_table(*evaluation.comparison).c_str());
  }
  std::string report;
  if (!out.report.empty()) {
    auto input = report_input(weights.written, weights.checkpoint.header(), evaluation,
                              ShardSet(shards).info());
    input.comparison = evaluation.comparison;
    input.samples = pictures_of_samples(call.comm, network, samples, evaluation, dtype);
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
           {"precision", "KIND", "of convolutions and activations: bf16, f32 (default), f64"},
           {"compare", "",
            "error against time beside classical solvers: the first 16 samples, on one process"}},
          evaluate};
}

}  // namespace voxcycle
