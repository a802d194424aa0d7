// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace voxcycle {

/// This machine's name, as it calls itself.
std::string host_name();

/// Whether a launcher of MPI programs started this process and told it so.
bool has_launcher();

/// Asks this process to stop (SIGTERM) when the one that started it ends, however that ends.
void stop_with_parent();

}  // namespace voxcycle
