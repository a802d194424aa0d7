// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/config/options.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace voxcycle {

/// A command that runs beside this program, in a process group of its own, so that Ctrl-C
/// reaches this program alone. It is asked to stop (SIGUSR1) when this program dies, however that
/// happens.
class ChildProcess {
 public:
  /// Starts the command; its standard output and error go to the file `log`, its input is empty.
  /// @param command  the program, by its path or a name in PATH, and its arguments: no shell reads
  ///                 them. `env PROGRAM` says in the log why a program cannot be started.
  /// @throws Error with the system's text if no process can be made or the log cannot be written.
  ChildProcess(std::vector<std::string> command, std::string const& log);
  /// Asks a command that still runs to stop and waits for its end.
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  /// @return the exit status once the command has ended (128 + the signal's number if a signal
  /// ended it), nothing while it runs.
  std::optional<int> poll();
  /// Waits for the end. @return as poll.
  int wait();
  /// Asks for an end with a checkpoint (SIGUSR1, which mpirun and srun pass on to their processes).
  void request_stop();

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
};

/// Numbers of processes from a list such as "1,2,3".
/// @param name  of the option, for the message
/// @throws Error unless there are some, and all are whole numbers from 1.
std::vector<std::int64_t> parse_process_counts(std::string const& name, std::string const& list);

/// The words of a launcher, as a shell would split them: at blanks outside '...' and "...", of
/// which the quotes are dropped; after a backslash, but within '...', a character stands for
/// itself. Nothing else has a meaning: no shell reads them.
/// @throws Error if a quote does not end.
std::vector<std::string> launcher_words(std::string const& text);

/// @throws Error unless a launcher started as many processes as it was asked for. One that does not
/// speak this MPI's language starts processes that each take themselves for the only one.
void require_started(std::int64_t started, std::int64_t wanted);

/// @throws Error if kLauncher would start more processes than have room in this machine's memory.
void require_room(std::string const& launcher, std::int64_t processes);

/// A command that becomes this same program with `arguments`.
/// @param launcher   what starts several processes, with {} for their number, e.g. "mpirun -n {}",
///                   see launcher_words; empty: one process without a launcher
/// @param threads    of each process (OMP_NUM_THREADS)
/// @throws Error if the launcher has no {} or a quote that does not end, or several processes have
/// no launcher; as require_room.
std::vector<std::string> own_command(std::string launcher, std::int64_t processes, int threads,
                                     std::vector<std::string> const& arguments);

/// The last `most` lines of a file, "" if it cannot be read; by default what tells a failure.
std::string last_lines(std::string const& path, std::size_t maximum = 12);

}  // namespace voxcycle
