// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/config/model.hpp"

#include "voxcycle/config/load_model.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/solver/model.hpp"
#include "voxcycle/train/checkpoint.hpp"

#include <filesystem>
#include <sstream>

namespace voxcycle {

std::string units_line(Boundary const& boundary, Source const& source) {
  double const size = solution_size(boundary, source);
  return size == 1.0 ? "" : "corrections in units of = " + shortest_text(size) + "\n";
}

void require_units(std::string const& path, std::string const& identity, Boundary const& boundary,
                   Source const& source) {
  VOXCYCLE_REQUIRE(identity.find(units_line(boundary, source)) != std::string::npos,
                   path << ": its network's corrections are not in units of the boundary's and the "
                           "source's size, as they are since. Train it again.");
}

Config config_of_identity(Config config, std::string const& identity) {
  std::istringstream lines(identity);
  for (std::string line; std::getline(lines, line);) {
    auto const equals = line.find(" = ");
    auto const name = line.substr(0, equals);
    if (name.find('.') != std::string::npos) config.set(name, line.substr(equals + 3));
  }
  return config;
}

namespace {

std::string directions_text(Config const& config) {
  auto const& directions = config.text("network.directions");
  return directions == "0" ? "" : ", directions " + directions;
}

}  // namespace

std::string describe_network(Config const& config) {
  bool const keyed = config.text("network.name") == "multigrid";
  return config.text("network.name") +
         (keyed ? ", channels " + config.text("network.channels") + ", coarse levels " +
                      config.text("network.coarse") + directions_text(config)
                : ", depth " + config.text("network.depth") + ", base channels " +
                      config.text("network.base_channels") + ", adaptation " +
                      config.text("network.adaptation")) +
         ", norm " + config.text("network.norm") + ", smoothing " +
         config.text("network.smoothing");
}

std::shared_ptr<Model> load_model(std::string const& checkpoint) {
  VOXCYCLE_REQUIRE(std::filesystem::exists(checkpoint),
                   checkpoint << " does not exist. Train first (voxcycle train), name another "
                                 "checkpoint, or give none to go without a network.");
  CheckpointReader const reader(checkpoint);
  try {
    Config const config = config_of_identity({}, reader.header().identity);
    auto const model = std::make_shared<Model>();
    model->file = checkpoint;
    model->name = describe_network(config);
    model->options = network_options(config);
    model->boundary = boundary_of(config);
    model->source = source_of(config);
    model->has_unit = make_family(family_options(config))->has_unit();
    model->precision = parse_precision("train.precision", config.text("train.precision"));
    model->grids = level_grids(config);
    model->training = config.identity();
    require_units(checkpoint, reader.header().identity, model->boundary, model->source);
    model->network = make_network(model->options, model->boundary, model->source);
    reader.restore_average(*model->network);
    return model;
  } catch (Error const& problem) {
    throw Error(checkpoint + ": the model cannot be made again from what the checkpoint says: " +
                problem.what());
  }
}

}  // namespace voxcycle
