// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace voxcycle {

/// Turns SIGINT, SIGTERM, SIGHUP (the terminal is gone; ignored under nohup) and SIGUSR1 (Slurm's
/// warning before the time limit) into a request to stop after the current step, with a checkpoint.
/// A second SIGINT ends the program at once.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(StopSignal const&) = delete;
  StopSignal& operator=(StopSignal const&) = delete;

  /// Whether this process was asked to stop.
  bool requested() const;
};

}  // namespace voxcycle
