// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/network/network.hpp"
#include "voxcycle/optim/optimizer.hpp"
#include "voxcycle/train/trainer.hpp"

#include <cstdint>
#include <vector>

namespace voxcycle {

/// Takes the levels of options.freeze out of training: their parameters take no gradient, so that
/// no optimiser and no sum changes them, nor their running statistics.
/// @throws Error naming the levels that there are for one that is not among them, and for a grid of
/// the path that would have none left to train.
void freeze(Network& network, TrainOptions const& options);

/// Network::levels without those that are frozen.
std::vector<LevelParameters> trained_levels(Network const& network, Grid3 const& grid);
/// The parameters of the levels that a step at `grid` trains, all at the same rate.
std::vector<ParameterGroup> parameter_groups(Network const& network, Grid3 const& grid);
/// Numbers in their parameters.
std::int64_t value_count(std::vector<ParameterGroup> const& groups);

}  // namespace voxcycle
