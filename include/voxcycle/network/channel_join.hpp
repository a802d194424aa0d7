// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/network/forward_context.hpp"

namespace voxcycle {

/// Concatenates the channels of features on one grid, [n, a, x, y, z] and [n, b, x, y, z] to
/// [n, a+b, x, y, z], micro-batch by micro-batch. In context.layout throughout, gradients too:
/// at::cat leaves strided gradients, which are slow to add and to copy.
MicroBatches join_channels(ForwardContext const& context, MicroBatches const& a,
                           MicroBatches const& b);

}  // namespace voxcycle
