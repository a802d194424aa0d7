// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"

#include <cstdint>
#include <string>

namespace voxcycle {

/// Those of this machine that the process may run on (its affinity).
int cores();
/// The same as text: a 1 for each core of the machine that the process may run on, a 0 for
/// others before the last of these.
std::string core_mask();
/// Cores' worth of time that all processes of a container or job have together, rounded up; the
/// largest int where there is no limit.
int core_limit();
/// Sets the number of threads of this process: those wanted; with 0, OMP_NUM_THREADS, else cores(),
/// shared out to the processes of this machine that may run on the same. **Collective**.
void set_threads(std::int64_t wanted, Communicator const& comm);

}  // namespace voxcycle
