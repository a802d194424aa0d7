// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"

#include <cstdint>

namespace voxcycle {

/// The largest number of all processes. **Collective**.
std::int64_t largest_of(Communicator const& comm, std::int64_t number);

}  // namespace voxcycle
