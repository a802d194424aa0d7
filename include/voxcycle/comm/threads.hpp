// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"

#include <cstdint>

namespace voxcycle {

/// Those of this machine that the process may run on (its affinity).
int cores();
/// Sets the number of threads of this process: those wanted; with 0, OMP_NUM_THREADS, else cores(),
/// shared out to the processes of this machine that may run on the same. **Collective**.
void set_threads(std::int64_t wanted, Communicator const& comm);

}  // namespace voxcycle
