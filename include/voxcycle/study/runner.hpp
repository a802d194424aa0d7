// SPDX-License-Identifier: BSD-3-Clause
// Runs of this same program as child processes: all that ablate, scale and verify start.
#pragma once

#include "voxcycle/config/options.hpp"
#include "voxcycle/study/child_process.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace voxcycle {

/// One run of this program.
struct ProgramRun {
  std::vector<std::string> arguments;
  std::string log;                   ///< takes what its processes print
  std::string launcher = kLauncher;  ///< as of own_command
  std::int64_t processes = 1;
  int threads = 1;  ///< of each process
};

/// How a run ended.
struct EndedRun {
  std::size_t number;  ///< from 0
  int status;          ///< exit status
  double seconds;
  bool stopped;  ///< whether all runs were asked to stop by then
};

/// Runs `count` of them, at most `jobs` at once. SIGINT, SIGTERM and SIGUSR1 stop all of them with
/// a checkpoint.
/// @param run    makes what has that number, just before it starts
/// @param ended  hears of each
/// @param waiting  called some times a second while some run
/// @return whether a signal asked to stop
/// @throws Error if one cannot be started; the others are stopped then.
bool run_all(
    std::size_t count, std::size_t jobs, std::function<ProgramRun(std::size_t number)> const& run,
    std::function<void(EndedRun const&)> const& ended,
    std::function<void()> const& waiting = [] {});

/// Short runs with one config, one after the other, in a directory of their own.
class ScratchRuns {
 public:
  /// Empties the directory.
  /// @param name     of it, below run.directory
  /// @param threads  of each process
  ScratchRuns(Config config, std::string const& name, std::string launcher, int threads);

  std::string file(std::string const& name) const { return directory_ + "/" + name; }

  /// @param log        file below the directory
  /// @param arguments  but for the config
  /// @throws Error with the end of its output if the run fails
  void run(std::string const& log, std::int64_t processes,
           std::vector<std::string> arguments) const;

 private:
  std::string directory_;
  std::string launcher_;
  int threads_;
};

/// @return e.g. "1 process", "3 processes".
std::string process_count_text(std::int64_t count);

}  // namespace voxcycle
