// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

namespace voxcycle {

/// Log lines `[time] [level] text`, on stderr and, after log_to_file, in a file too.
/// Ranks other than 0 stay silent below `warning` after log_set_rank.
void log_info(std::string_view text);
void log_warning(std::string_view text);
void log_error(std::string_view text);

/// Appends all later lines to `path` as well. @throws Error if it cannot be opened.
void log_to_file(std::string const& path);

/// Prefixes lines with the rank and mutes info lines of ranks other than 0.
void log_set_rank(int rank, int size);

/// Version of the logging library, for `voxcycle info`.
std::string log_library_version();

}  // namespace voxcycle
