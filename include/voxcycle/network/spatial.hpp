// SPDX-License-Identifier: BSD-3-Clause
// Space shared out: the processes of ForwardContext::spatial compute the same micro-batches.
// Features of fine grids they have in slabs along x (Slabs), those of coarse grids and all that has
// one value a voxel or node (nu, u, the smoothing steps, the loss) every process has as a whole,
// with the same bits: features are nearly all of a network's memory and most of its time. Where
// slabs touch, convolutions get the neighbours' planes; the backward pass adds what these planes'
// gradients are to the neighbours' own.
#pragma once

#include "voxcycle/network/forward_context.hpp"

namespace voxcycle {

/// The pass for layers on this grid: with features in slabs where `context` cuts the grid.
ForwardContext pass_on(ForwardContext const& context, Grid3 const& grid);

// Differentiable; micro-batches as they are where `context` is not in slabs. **Collective** over
// context.spatial, forward and backward.

/// Features of a slab with its neighbours' planes, one on either side, zeros beyond the grid.
MicroBatches with_halo(ForwardContext const& context, MicroBatches const& slabs);
/// This process's slab of what all of them have.
MicroBatches own_slabs(ForwardContext const& context, MicroBatches const& whole);
/// The other way round.
MicroBatches gathered(ForwardContext const& context, MicroBatches const& slabs);
/// The same for one value a node.
MicroBatches gathered_nodes(ForwardContext const& context, MicroBatches const& slabs);

}  // namespace voxcycle
