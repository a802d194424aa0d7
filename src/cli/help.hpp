// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/cli/command.hpp"

#include <string>
#include <vector>

namespace voxcycle {

enum class HelpDetail { brief, all };

/// The commands in a line each and three examples, or each with its flags, and all keys.
std::string help_text(std::vector<Command> const& commands, HelpDetail detail);
/// A command's flags, examples and the keys of the config that matter for it, or all.
std::string help_text(Command const& command, HelpDetail detail);

/// A script that completes command lines. @param shell  bash or zsh @throws UsageError for others.
std::string completion_script(std::vector<Command> const& commands, std::string const& shell);

}  // namespace voxcycle
