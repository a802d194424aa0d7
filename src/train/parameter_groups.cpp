// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/parameter_groups.hpp"

namespace voxcycle {

std::vector<ParameterGroup> parameter_groups(Network const& network, Grid3 const& grid) {
  std::vector<ParameterGroup> groups;
  for (auto const& level : network.levels(grid))
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
