// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/parameter_groups.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <string>

namespace voxcycle {

void freeze(Network& network, TrainOptions const& options) {
  if (options.freeze.empty()) return;
  VOXCYCLE_REQUIRE(!options.start.empty(),
                   "train.freeze without train.start would keep weights that nothing trained. Name "
                   "the run to begin with.");
  auto const finest = std::max_element(
      options.levels.begin(), options.levels.end(),
      [](auto const& a, auto const& b) { return a.grid.level() < b.grid.level(); });
  auto const all = network.levels(finest->grid);
  std::vector<std::string> names;
  for (auto const& entry : all) names.push_back(std::to_string(entry.level));
  for (auto const level : options.freeze) {
    auto const found = std::find_if(all.begin(), all.end(),
                                    [&](auto const& entry) { return entry.level == level; });
    VOXCYCLE_REQUIRE(found != all.end(), "train.freeze: the network has no weights of grid "
                                             << level << " alone (they belong to " << join(names)
                                             << "). Choose among these.");
    for (auto const& parameter : found->parameters) parameter.requires_grad_(false);
  }
  for (int const level : options.path) {
    auto const& plan = options.levels.at(static_cast<std::size_t>(level));
    VOXCYCLE_REQUIRE(!trained_levels(network, plan.grid).empty(),
                     "train.freeze leaves nothing to train at "
                         << plan.grid.label() << " (the network's weights belong to " << join(names)
                         << "). Freeze fewer grids, or leave that level out of "
                         << "cycle.levels.");
  }
}

std::vector<LevelParameters> trained_levels(Network const& network, Grid3 const& grid) {
  auto all = network.levels(grid);
  std::erase_if(all, [](auto const& entry) {
    return !entry.parameters.empty() && !entry.parameters.front().requires_grad();
  });
  return all;
}

std::vector<ParameterGroup> parameter_groups(Network const& network, Grid3 const& grid) {
  std::vector<ParameterGroup> groups;
  for (auto const& level : trained_levels(network, grid))
    groups.push_back({level.parameters, level.names, 1.0});
  return groups;
}

std::int64_t value_count(std::vector<ParameterGroup> const& groups) {
  std::int64_t count = 0;
  for (auto const& group : groups) {
    for (auto const& parameter : group.parameters) count += parameter.numel();
  }
  return count;
}

}  // namespace voxcycle
