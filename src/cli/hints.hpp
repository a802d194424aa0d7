// SPDX-License-Identifier: BSD-3-Clause
// What may have been meant by words that no command line has.
#pragma once

#include "voxcycle/cli/command.hpp"
#include "voxcycle/core/usage_error.hpp"

#include <string>
#include <vector>

namespace voxcycle {

/// Of the first word of a command line.
UsageError unknown_command(std::vector<Command> const& commands, std::string const& name);
/// Of --name, which is neither a flag of the command nor a key of the config.
UsageError unknown_option(Command const& command, std::string const& name);
/// Of a word that does not begin with two dashes where an option should.
UsageError unexpected_word(Command const& command, std::string const& word);

}  // namespace voxcycle
