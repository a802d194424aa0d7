// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/train/memory.hpp"

#include <cstdint>
#include <string>

namespace voxcycle {

/// What to change in a stage that does not fit into `limit` bytes a process: up to three sets of
/// changes with the memory that each then needs, the one that costs least time first. A sentence.
std::string memory_advice(TrainOptions const& options, LevelPlan const& plan,
                          MemoryOptions const& memory, std::int64_t limit);

}  // namespace voxcycle
