// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/cli/command.hpp"

#include <string>
#include <utility>
#include <vector>

namespace voxcycle {

/// A file that a command reads: what names it, e.g. "--nu", and where it is, FILE:dataset, too.
using InputFile = std::pair<std::string, std::string>;

/// Looks before any work at the files that a command is to write.
/// @param outputs  what names each, e.g. "--json", and its path
/// @throws Error if one cannot be written, is among the inputs or the file of --config, or stands
/// twice.
void require_outputs(Invocation const& call,
                     std::vector<std::pair<std::string, std::string>> const& outputs,
                     std::vector<InputFile> inputs);

/// Those of some flags, e.g. {"json", "out"}, of which not all need be given.
void require_outputs_of(Invocation const& call, std::vector<std::string> const& flags,
                        std::vector<InputFile> const& inputs = {});

}  // namespace voxcycle
