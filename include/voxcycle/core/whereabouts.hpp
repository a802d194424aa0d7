// SPDX-License-Identifier: BSD-3-Clause
// What this process does at the moment, for a thread that tells it to others who wait
// (comm/watchdog.hpp). To note it costs a store to memory.
#pragma once

#include <cstdint>

namespace voxcycle {

struct Whereabouts {
  std::int64_t step = 0;      ///< of the training, from 1; 0: none
  char const* part = "";      ///< of the work
  char const* call = "";      ///< the latest call that waits for other processes
  bool waits = false;         ///< within it
  bool on_gpu = false;        ///< the process waits for its GPU, too, which may keep its CPU busy
  std::uint64_t changes = 0;  ///< how often any of this was noted
};

Whereabouts whereabouts();

/// @param step  from 1
void note_step(std::int64_t step);
/// @param part  for people, e.g. "forward"; it has to outlive the program
void note_part(char const* part);

void note_gpu();

/// This thread is within a call that waits for other processes.
class WaitsForOthers {
 public:
  /// @param call  for people, e.g. "MPI_Allreduce"; it has to outlive the program
  explicit WaitsForOthers(char const* call);
  ~WaitsForOthers();
  WaitsForOthers(WaitsForOthers const&) = delete;
  WaitsForOthers& operator=(WaitsForOthers const&) = delete;
};

}  // namespace voxcycle
