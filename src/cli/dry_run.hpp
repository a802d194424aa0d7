// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/config/config.hpp"
#include "voxcycle/train/trainer.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace voxcycle {

/// What a training would do, for how long, and with how much memory: a table with a line a stage.
/// Times a few steps at every level that is quick enough, and scales the others by their voxels.
/// **Collective**.
/// @throws Error for whatever would stop the training before its first step, data aside.
/// @param gpu_bytes  see memory_frame
std::string describe_training(TrainOptions options, Config const& config, Communicator const& comm,
                              std::int64_t gpu_bytes);

/// Of each level of the path, by its number in the config, as above but with less patience; nothing
/// where all stages end by their time. **Collective**.
std::map<int, double> expected_step_seconds(TrainOptions const& options, Config const& config,
                                            Communicator const& comm);

}  // namespace voxcycle
