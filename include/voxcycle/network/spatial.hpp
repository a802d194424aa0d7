// SPDX-License-Identifier: BSD-3-Clause
// Space shared out: the processes of ForwardContext::spatial compute the same micro-batches, each
// its part of fine grids (Space); coarse grids all have as a whole. Fields with one value a voxel
// or node overlap with the neighbours' and are right throughout, and so are gradients in them.
// Features do not overlap: where slabs touch, convolutions get the neighbours' planes, and the
// backward pass adds what these planes' gradients are to the neighbours' own.
#pragma once

#include "voxcycle/network/forward_context.hpp"

namespace voxcycle {

/// The grid as this process has it.
Space space_on(ForwardContext const& context, Grid3 const& grid);
/// The pass for layers on this grid: with features in slabs where `context` cuts the grid.
ForwardContext pass_on(ForwardContext const& context, Grid3 const& grid);

// Differentiable, and as they are where nothing is shared out. **Collective** over context.spatial,
// forward and backward.

/// Features of a slab with its neighbours' planes, one on either side, zeros beyond the grid.
MicroBatches with_halo(ForwardContext const& context, MicroBatches const& features);

/// Own voxels, as features are, of those of the part.
MicroBatches own_features(ForwardContext const& context, MicroBatches const& voxels);
/// Of the grid below the level under way, which is whole: all features, given each process' own;
/// and the other way round.
MicroBatches gathered_below(ForwardContext const& context, MicroBatches const& features);
MicroBatches own_below(ForwardContext const& context, MicroBatches const& features);
/// Values at the nodes of the part, given those at the nodes of own voxels, of which the last plane
/// is the next process', if there is one.
MicroBatches own_nodes_to_part(ForwardContext const& context, MicroBatches const& nodes);

/// Voxels of the coarser grid, each the mean of eight.
MicroBatches pooled(ForwardContext const& context, Grid3 const& fine, MicroBatches const& voxels);
/// Of u on the coarser grid what the finer grid's part interpolates.
at::Tensor to_interpolate(Space const& fine, Space const& coarse, at::Tensor const& u);
/// The field itself; its gradient becomes right in the whole part, if it is on own nodes.
at::Tensor with_gradient_on_part(Space const& space, at::Tensor const& nodes);

}  // namespace voxcycle
