// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/cli/command.hpp"

namespace voxcycle {

/// evaluate with the config of an ensemble: each member's errors, and mean and spread where the
/// members solve the same problem. @return the exit status. **Collective**.
int evaluate_members(Invocation const& call);

}  // namespace voxcycle
