// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/config/config.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace voxcycle {

/// Where measurements come from, besides those that the directory has.
enum class ScalePart {
  measure,  ///< this program makes them
  submit,   ///< a Slurm job for each number of processes does
  report,   ///< there are no others
};

struct ScaleOptions {
  /// Rising; without any: 1, 2, 4, ... up to `cores`, and in space those that share out the grid.
  std::vector<std::int64_t> processes{};
  std::optional<std::int64_t> grid{};    ///< voxels along the longest edge, else the finest level's
  std::optional<std::int64_t> batch{};   ///< global, else the level's
  std::int64_t repeats = 3;              ///< turns
  bool in_space = false;                 ///< instead: all processes together on each sample
  std::optional<std::string> network{};  ///< see parse_network: predicts more processes
  std::optional<std::string> launcher{};  ///< see own_command; without one: on this machine
  int cores = 1;                          ///< of this machine
  ScalePart part = ScalePart::measure;
  bool fresh = false;  ///< forgets what the directory has
};

/// What was measured, for people and for other programs.
struct ScaleReport {
  std::string text;
  std::string json;
};

/// Strong and weak scaling of a training step, or its scaling in space, each number of processes
/// started by itself. Measurements stay in <run.directory>/scale (in space: scale_space), where
/// later calls add others to them, together with scale.html and scale.json over all of them.
/// @throws Error for numbers of processes that do not rise or cannot share out the samples, for a
/// directory with measurements of something else, and with the end of its output if a run fails.
ScaleReport scale(Config const& config, ScaleOptions const& options);

}  // namespace voxcycle
