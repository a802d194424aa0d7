// SPDX-License-Identifier: BSD-3-Clause
// The machines that processes run on, and how well they use their cores.
#pragma once

#include "voxcycle/comm/communicator.hpp"

#include <string>
#include <vector>

namespace voxcycle {

/// A process's place.
struct ProcessPlace {
  std::string host;
  std::string core_mask;  ///< see core_mask()
  int core_limit = 0;     ///< see core_limit()
  int threads = 1;
  double clock = 0.0;  ///< of its machine, seconds since 1970
};

/// A machine, and what its processes make of it.
struct Machine {
  std::string host;
  int processes = 0;
  int threads = 0;           ///< of all of them
  int cores = 0;             ///< that one of them at least may run on
  double clock_ahead = 0.0;  ///< seconds that its clock is ahead of rank 0's
};

/// The machines in the order of their first ranks.
std::vector<Machine> machines_of(std::vector<ProcessPlace> const& processes);
/// The same of all ranks. **Collective**.
std::vector<Machine> machines_of(Communicator const& comm);

/// e.g. "node1 (2 processes, 4 threads, 4 cores)"
std::string describe(Machine const& machine);
enum class IdleCores { matter, are_fine };
/// Sentences on cores that have too many or too few threads, and on clocks that are more than a
/// second apart.
std::vector<std::string> warnings_of(std::vector<Machine> const& machines,
                                     IdleCores idle = IdleCores::matter);

}  // namespace voxcycle
