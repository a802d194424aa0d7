// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <exception>

namespace voxcycle {

/// Turns SIGINT, SIGTERM, SIGHUP (the terminal is gone; ignored under nohup) and SIGUSR1 (Slurm's
/// warning before the time limit) into a request to stop with a checkpoint: after the current step
/// of a first-order method, or in the middle of what may take minutes (an iteration of L-BFGS, an
/// evaluation), which is then done again when the run goes on. A second SIGINT ends the program at
/// once. While this lives SIGPIPE is ignored: the Ctrl-C that it answers may have ended who reads
/// the output (`| tee`). One within the life of another is the same request.
class StopSignal {
 public:
  /// @param text  written to standard error when the first request comes, null: nothing; it has to
  ///              outlive all. Within the life of one without a text this one's is written
  explicit StopSignal(char const* text = nullptr);
  ~StopSignal();
  StopSignal(StopSignal const&) = delete;
  StopSignal& operator=(StopSignal const&) = delete;

  /// Whether this process was asked to stop.
  bool requested() const;
  /// The same, for a thread that has no such object at hand.
  static bool asked();
};

/// Thrown on all ranks where work is given up because one of them was asked to stop.
class StopRequested : public std::exception {
 public:
  char const* what() const noexcept override { return "asked to stop"; }
};

}  // namespace voxcycle
