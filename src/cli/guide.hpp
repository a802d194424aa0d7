// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace voxcycle {

/// What the help of a command has beside its flags.
struct Guide {
  std::string command;
  std::vector<std::string> keys;      ///< of the config, that matter for it
  std::vector<std::string> examples;  ///< without "voxcycle"
};

/// @throws Error if there is none for the command: each has one.
Guide const& guide_of(std::string const& command);

}  // namespace voxcycle
