// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/config/model.hpp"

#include "voxcycle/config/options.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/train/checkpoint.hpp"
#include "voxcycle/train/frame.hpp"

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

Model load_model(std::string const& checkpoint) {
  VOXCYCLE_REQUIRE(std::filesystem::exists(checkpoint),
                   checkpoint << " does not exist. Train first (voxcycle train), name another "
                                 "checkpoint, or give none to go without a network.");
  CheckpointReader const reader(checkpoint);
  try {
    Model model;
    model.config = config_of_identity({}, reader.header().identity);
    model.boundary = boundary_of(model.config);
    model.source = source_of(model.config);
    require_units(checkpoint, reader.header().identity, model.boundary, model.source);
    model.network = make_network(network_options(model.config), model.boundary, model.source);
    reader.restore_average(*model.network);
    return model;
  } catch (Error const& problem) {
    throw Error(checkpoint + ": the model cannot be made again from what the checkpoint says: " +
                problem.what());
  }
}

}  // namespace voxcycle
