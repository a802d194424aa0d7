// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/config/config.hpp"
#include "voxcycle/core/exit_status.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace voxcycle {

class DeviceChoice;

/// What a command gets: the resolved config, its own flags and the processes it runs on.
struct Invocation {
  Config config;
  std::map<std::string, std::string> flags;  ///< "json" -> FILE, "fresh" -> ""
  Communicator const& comm;
  std::vector<std::string> operands{};  ///< words that are no options, where the command has some

  bool has(std::string const& flag) const { return flags.count(flag) == 1; }
  /// The text of --flag, or `otherwise`.
  std::string text(std::string const& flag, std::string const& otherwise = "") const {
    return has(flag) ? flags.at(flag) : otherwise;
  }
  /// The number of --flag, if it is given. @throws Error if it is not positive.
  std::optional<std::int64_t> count(std::string const& flag) const;
};

/// With a number for run.spatial_processes = auto. **Collective**.
Invocation with_spatial_processes(Invocation const& asked, DeviceChoice const& place);

/// The file of --checkpoint, which may name a run directory, or else the directory's own.
std::string checkpoint_of(Invocation const& call, std::string const& directory);

/// Whether an empty text is a value of a flag.
enum class Empty { refused, allowed };

struct Flag {
  std::string name;      ///< without the dashes
  std::string argument;  ///< "" if it takes none, else its name in the help, e.g. "FILE"
  std::string meaning;   ///< "" keeps it out of the help
  Empty empty = Empty::refused;
};

struct Command {
  std::string name;
  std::string meaning;
  std::vector<Flag> flags;
  int (*run)(Invocation const&);           ///< exit status; **Collective**
  std::vector<std::string> subjects = {};  ///< what its first word may name (flag "subject")
  std::string operands = {};               ///< "IMAGE..." if words may stand among the options
};

Command generate_command();
Command train_command();
Command evaluate_command();
Command export_command();
Command solve_command();
Command conductivity_command();
Command ablate_command();
Command scale_command();
Command verify_command();
Command bench_command();
Command info_command();

/// One line a command, in the order of the help.
std::vector<Command> all_commands();

/// Parses the command line and runs the command on all ranks. @throws Error for wrong usage.
int run_command_line(std::vector<std::string> const& arguments, Communicator const& comm);

}  // namespace voxcycle
