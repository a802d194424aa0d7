// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/cli/command.hpp"
#include "voxcycle/comm/device_choice.hpp"

namespace voxcycle {

/// evaluate with the config of an ensemble: each member's errors, and mean and spread where the
/// members solve the same problem. @return the exit status. **Collective**.
/// @param dtype  of the networks; @param place  where they compute
int evaluate_members(Invocation const& call, at::ScalarType dtype, DeviceChoice const& place);

}  // namespace voxcycle
