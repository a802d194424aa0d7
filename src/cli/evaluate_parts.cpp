// SPDX-License-Identifier: BSD-3-Clause
#include "cli/evaluate_parts.hpp"

#include "voxcycle/config/model.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/is_there.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/usage_error.hpp"
#include "voxcycle/train/agreement.hpp"
#include "voxcycle/train/averaged_weights.hpp"
#include "voxcycle/train/run_directory.hpp"

#include <algorithm>
#include <filesystem>

#include "cli/output_files.hpp"

namespace voxcycle {
namespace {

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

std::string const& existing(std::string const& path) {
  VOXCYCLE_REQUIRE(is_there(path),
                   path << " does not exist. Train first (voxcycle train), or name another with "
                           "--checkpoint.");
  return path;
}

}  // namespace

Grid3 evaluated_grid(Invocation const& call) {
  if (!call.has("grid")) return level_grids(call.config).back();
  auto const& text = call.flags.at("grid");
  auto const n = parse_number<std::int64_t>(text);
  VOXCYCLE_REQUIRE_USAGE(
      n > 0, "--grid " << text << " is no grid. Give voxels along the longest edge, e.g. 64.");
  auto const grid = level_grid(call.config, *n);
  auto const grids = level_grids(call.config);
  std::vector<std::string> there;
  for (auto const& one : grids) there.push_back(one.label());
  VOXCYCLE_REQUIRE_USAGE(std::find(grids.begin(), grids.end(), grid) != grids.end(),
                         "--grid " << text << ": there are held-out samples at " << join(there)
                                   << " (cycle.levels), not at " << grid.label()
                                   << ". Choose one of these, or add " << text
                                   << " to cycle.levels and run voxcycle generate.");
  return grid;
}

std::string split_of(Invocation const& call) {
  std::string const split = call.has("split") ? call.flags.at("split") : "held_out";
  VOXCYCLE_REQUIRE_USAGE(split == "held_out" || split == "train",
                         "--split " << split << " is no split. Choose held_out or train.");
  return split;
}

std::string samples_of(std::string const& split) {
  return split == "train" ? "training samples" : "held-out samples";
}

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

std::vector<std::pair<std::string, std::string>> Outputs::all() const {
  std::vector<std::pair<std::string, std::string>> files;
  for (auto const& file : {std::pair{"--json", json}, std::pair{"evaluation.csv", csv},
                           std::pair{"compare.csv", compare}, std::pair{"report.html", report}}) {
    if (!file.second.empty()) files.emplace_back(file);
  }
  return files;
}

Outputs outputs_of(Invocation const& call, std::string const& directory,
                   std::vector<std::string> const& checkpoints, Grid3 const& grid, bool held_out) {
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
    std::vector<InputFile> inputs{{"the run's config", directory + "/config.cfg"}};
    for (auto const& checkpoint : checkpoints) inputs.emplace_back("the checkpoint", checkpoint);
    require_outputs(call, out.all(), inputs);
  }
  return out;
}

Weights::Weights(Invocation const& call, TrainOptions const& options, at::ScalarType dtype)
    : path(checkpoint_of(call, options.directory)),
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

std::string Weights::name(std::string const& directory) const {
  std::filesystem::path const weights(path);
  bool const is_of_run = weights.parent_path() == std::filesystem::path(directory);
  return is_of_run ? weights.filename().string() : path;
}

}  // namespace voxcycle
