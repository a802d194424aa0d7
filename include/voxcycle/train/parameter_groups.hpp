// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/network/network.hpp"
#include "voxcycle/optim/optimizer.hpp"

#include <cstdint>
#include <vector>

namespace voxcycle {

/// The parameters of the levels that a step at `grid` trains, all at the same rate.
std::vector<ParameterGroup> parameter_groups(Network const& network, Grid3 const& grid);
/// Numbers in their parameters.
std::int64_t value_count(std::vector<ParameterGroup> const& groups);

}  // namespace voxcycle
