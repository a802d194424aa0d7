// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/config/options.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace voxcycle {

struct VerifyOptions {
  std::vector<std::int64_t> ranks{1, 2, 3};  ///< numbers of processes
  std::string steps = "5";                   ///< per stage, as of cycle.steps
  std::string launcher = kLauncher;          ///< see own_command
  /// All processes together on each sample, in the same parts: run.spatial_parts or, if that is not
  /// given, as many as the most processes.
  bool in_space = false;
};

/// What was found, for people and for other programs.
struct VerifyReport {
  bool identical = false;
  std::string text;
  std::string json;
};

/// The same short training on several numbers of processes, and stopped and gone on with on
/// changing numbers, compared bit by bit.
/// @throws Error where bits must differ (train.rate_scaling), and with the end of its output if a
/// run fails.
VerifyReport verify(Config const& config, VerifyOptions const& options);

/// What its child processes do: train, and write one line per step to `file`. **Collective**.
void verify_worker(TrainOptions options, Communicator const& comm, std::string const& file);

}  // namespace voxcycle
