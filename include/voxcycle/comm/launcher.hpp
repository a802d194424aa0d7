// SPDX-License-Identifier: BSD-3-Clause
// What launchers leave in the environment of the processes that they start.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace voxcycle {

/// How many processes an MPI launcher, or srun, started; nothing where none says so.
std::optional<std::int64_t> launched_processes();

/// Processes that a launcher started side by side, but not through MPI: none knows of the others.
struct Strangers {
  std::string launcher;    ///< "torchrun" or "srun"
  std::int64_t processes;  ///< >= 2
  bool is_first;           ///< whether this process is the first of them

  bool operator==(Strangers const&) const = default;
};

/// Whether this process is one of such.
std::optional<Strangers> strangers();

}  // namespace voxcycle
