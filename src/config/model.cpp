// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/config/model.hpp"

#include "voxcycle/config/load_model.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/is_there.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/solver/model.hpp"
#include "voxcycle/train/checkpoint.hpp"
#include "voxcycle/train/run_directory.hpp"

#include <filesystem>

namespace voxcycle {
namespace {

constexpr char const* kUnits = "corrections in units of";

}  // namespace

void add_units(Fingerprint& fingerprint, Boundary const& boundary, Source const& source) {
  double const size = solution_size(boundary, source);
  if (size != 1.0) fingerprint.set(kUnits, shortest_text(size));
}

void require_units(std::string const& path, Fingerprint const& fingerprint,
                   Boundary const& boundary, Source const& source) {
  Fingerprint needed;
  add_units(needed, boundary, source);
  VOXCYCLE_REQUIRE(needed.empty() || fingerprint.value(kUnits) == needed.value(kUnits),
                   path << ": its network's corrections are not in units of the boundary's and the "
                           "source's size, as they are since. Train it again.");
}

Config with_fingerprint(Config config, Fingerprint const& fingerprint) {
  for (auto const& [key, value] : fingerprint.entries()) {
    if (key.find('.') != std::string::npos) config.set(key, value);
  }
  return config;
}

namespace {

std::string subspace_text(Config const& config) {
  auto const& subspace = config.text("network.subspace");
  return subspace == "0" ? "" : ", subspace " + subspace;
}

}  // namespace

std::string describe_network(Config const& config) {
  bool const keyed = config.text("network.name") == "multigrid";
  return config.text("network.name") +
         (keyed ? ", channels " + config.text("network.channels") + ", coarse levels " +
                      config.text("network.coarse") + subspace_text(config)
                : ", depth " + config.text("network.depth") + ", base channels " +
                      config.text("network.base_channels") + ", adaptation " +
                      config.text("network.adaptation")) +
         ", norm " + config.text("network.norm") + ", smoothing " +
         config.text("network.smoothing");
}

std::shared_ptr<Model> load_model(std::string const& path) {
  auto const checkpoint = checkpoint_at(path);
  VOXCYCLE_REQUIRE(is_there(checkpoint),
                   checkpoint << " does not exist. Train first (voxcycle train), name another "
                                 "checkpoint, or give none to go without a network.");
  CheckpointReader const reader(checkpoint);
  try {
    Config const config = with_fingerprint({}, reader.header().fingerprint);
    auto const model = std::make_shared<Model>();
    model->file = checkpoint;
    model->name = describe_network(config);
    model->options = network_options(config);
    model->boundary = boundary_of(config);
    model->source = source_of(config);
    bool const by_source = !model->source.varies() && model->source.value != 0.0 &&
                           model->boundary.has_different_values();
    model->has_unit = by_source || make_family(family_options(config))->has_unit();
    model->precision = parse_precision("train.precision", config.text("train.precision"));
    model->grids = level_grids(config);
    model->training = config.fingerprint().text();
    require_units(checkpoint, reader.header().fingerprint, model->boundary, model->source);
    model->network = make_network(model->options, model->boundary, model->source);
    reader.restore_average(*model->network);
    return model;
  } catch (Error const& problem) {
    throw Error(checkpoint + ": the model cannot be made again from what the checkpoint says: " +
                problem.what());
  }
}

}  // namespace voxcycle
