// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/config/config.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace voxcycle {

struct ScaleOptions {
  /// Rising; without any: 1, 2, 4, ... up to `cores`, and in space those that share out the grid.
  std::vector<std::int64_t> processes{};
  std::optional<std::int64_t> grid{};   ///< voxels along the longest edge, else the finest level's
  std::optional<std::int64_t> batch{};  ///< global, else the level's
  std::int64_t rounds = 2;              ///< the fastest counts
  bool in_space = false;                ///< instead: all processes together on each sample
  std::optional<std::string> launcher{};  ///< see own_command; without one: on this machine
  int cores = 1;                          ///< of this machine
};

/// What was measured, for people and for other programs.
struct ScaleReport {
  std::string text;
  std::string json;
};

/// Strong and weak scaling of a training step, or its scaling in space, on random fields, each
/// number of processes started by itself.
/// @throws Error for numbers of processes that do not rise or cannot share out the samples, and
/// with the end of its output if a run fails.
ScaleReport scale(Config const& config, ScaleOptions const& options);

}  // namespace voxcycle
