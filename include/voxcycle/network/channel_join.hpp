// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/network/memory.hpp"
#include "voxcycle/network/pass.hpp"

namespace voxcycle {

/// Concatenates the channels of features on one grid, [n, a, x, y, z] and [n, b, x, y, z] to
/// [n, a+b, x, y, z], unit by unit. In pass.layout throughout, gradients too: at::cat leaves
/// strided gradients, which are slow to add and to copy.
Units join_channels(Pass const& pass, Units const& a, Units const& b);
Field plan_join(Tape& tape, Field const& a, Field const& b);

}  // namespace voxcycle
