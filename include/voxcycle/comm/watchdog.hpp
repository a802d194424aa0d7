// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"

#include <memory>

namespace voxcycle {

/// Ends a job in which a process stands still, which the others would wait for without a word.
/// While it lives a thread of each process tells rank 0, and rank 1 as its deputy, every few
/// seconds what the process does (core/whereabouts.hpp). Who says nothing, or neither works nor
/// waits for others, for longer than the patience is named with its machine, step and part, and the
/// job is ended with kStoodStill. Work of the CPU never counts as standing still, however long it
/// takes. If the processes are asked to stop (StopSignal) and one does not answer, that is said at
/// once.
class Watchdog {
 public:
  virtual ~Watchdog() = default;
};

/// Nothing for one process, a patience of 0, or an MPI that threads must not share. **Collective**.
/// @param comm      of all processes of the job, which MPI started; it has to outlive the watchdog
/// @param patience  seconds
std::unique_ptr<Watchdog> make_watchdog(Communicator const& comm, double patience);

}  // namespace voxcycle
