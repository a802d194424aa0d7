// SPDX-License-Identifier: BSD-3-Clause
// What a run takes from the one that it starts from.
#pragma once

#include "voxcycle/core/named_tensors.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/train/checkpoint.hpp"
#include "voxcycle/train/trainer.hpp"

#include <cstdint>
#include <vector>

namespace voxcycle {

/// Gives the networks the weights and running statistics of the levels that the checkpoint has, and
/// logs which these are and in what the runs differ. Where one run's samples have sources and the
/// other's have none, weights of f are left out, or begin at 0.
/// @return the levels taken, coarsest first
/// @throws Error for another kind of network or other sizes, if no level is there, or one that
/// options.freeze names is not.
std::vector<std::int64_t> begin_with(CheckpointReader const& start, TrainOptions const& options,
                                     Network& network, Network& average);

/// What the start's method hands on, of parameters that this network has.
NamedTensors warm_start_of(CheckpointReader const& start, Network const& network);

}  // namespace voxcycle
