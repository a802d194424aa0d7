// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

namespace voxcycle {

/// Log lines `[time] [level] text`, on stderr and, after log_to_file, in a file too.
/// Ranks other than 0 stay silent on stderr below `warning` after log_set_rank.
void log_info(std::string_view text);
void log_warning(std::string_view text);
void log_error(std::string_view text);

/// Whose lines go into files. The warnings and errors of all ranks go into LogOptions::file anyhow.
enum class LogMode {
  master,   ///< those of rank 0
  collect,  ///< those of all ranks, into one file
  workers,  ///< those of all ranks, rank 3's into log.3.txt beside log.txt
};

struct LogOptions {
  LogMode mode = LogMode::master;
  std::string file = "log.txt";
};

/// Appends all later lines to files as well, and no more to earlier files. Each line is written as
/// a whole, under a lock, so that the processes of several machines may share a file: its lines are
/// in the order of their writing.
/// @throws Error if this rank has a file to write and cannot
void log_to_file(LogOptions const& options);

/// Prefixes lines with the rank and mutes info lines of ranks other than 0 on stderr.
void log_set_rank(int rank, int size);
/// The rank within the group of processes that trains: who tells info lines, and whose files lines
/// go into. Lines have the prefix of log_set_rank.
void log_set_group_rank(int rank);

/// Version of the logging library, for `voxcycle info`.
std::string log_library_version();

}  // namespace voxcycle
