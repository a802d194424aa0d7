// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include "poisson/multigrid/axis_coarsening.hpp"
#include "poisson/operator/stencil_rows.hpp"
#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Weights of operator-dependent interpolation P: what each node of the coarse grid gives to the 26
/// fine nodes around it (its own it sets). Fine nodes in the middle of a coarse edge, face or voxel
/// take from its two, four or eight corners in proportion to the couplings, so that jumps of nu
/// bend the interpolant where they bend the solution ("black box multigrid", Dendy 1982, 1983):
///
/// - edge: couplings to each side, summed over the plane across;
/// - face: the equation of the node with couplings summed along the face's normal, edges known;
/// - voxel: the equation of the node, edges and faces known.
///
/// Fine nodes that lie on a coarse one take all from it, the last of an even number among them;
/// those of the last plane then take from others in it (see AxisCoarsening). Weights of a fine node
/// sum to one. Where the couplings make no sense as such (a weight beyond [0, 1] on an edge, [-1,
/// 2] elsewhere) they are those of trilinear interpolation.
/// @return [B, 26, coarse nodes] in the source's type; offsets 0 to 12 and 14 to 26 in order, zero
///         where they leave the grid
at::Tensor black_box_weights(StencilSource const& fine, GridCoarsening const& coarsening);

/// Couplings of P^T K P, as coupling_stencil takes them: [B, 13, coarse nodes] in the source's
/// type. Rows of K sum to zero and P keeps constants, so couplings are all there is.
at::Tensor black_box_couplings(StencilSource const& fine, at::Tensor const& weights);

}  // namespace voxcycle
