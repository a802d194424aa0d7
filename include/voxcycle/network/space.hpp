// SPDX-License-Identifier: BSD-3-Clause
// Space shared out: the processes of Pass::space compute the same units. Features of fine grids
// they have in slabs along x (Slabs), those of coarse grids and all that has one value a voxel or
// node (nu, u, the smoothing steps, the loss) every process has as a whole, with the same bits:
// features are nearly all of a network's memory and most of its time. Where slabs touch,
// convolutions get the neighbours' planes; the backward pass adds what these planes' slopes are to
// the neighbours' own.
#pragma once

#include "voxcycle/network/memory.hpp"
#include "voxcycle/network/pass.hpp"

namespace voxcycle {

/// The pass for layers on this grid: with features in slabs where `pass` cuts the grid.
Pass pass_on(Pass const& pass, Grid3 const& grid);

// Differentiable; units as they are where `pass` is not in slabs. **Collective** over pass.space,
// forward and backward.

/// Features of a slab with its neighbours' planes, one on either side, zeros beyond the grid.
Units with_halo(Pass const& pass, Units const& slabs);
/// This process's slab of what all of them have.
Units own_slabs(Pass const& pass, Units const& whole);
/// The other way round.
Units gathered(Pass const& pass, Units const& slabs);
/// The same for one value a node.
Units gathered_nodes(Pass const& pass, Units const& slabs);

// What they hold and make, see Tape.
Field plan_halo(Tape& tape, Field const& slab);
Field plan_own_slab(Tape& tape, Field const& whole, Grid3 const& slab);
Field plan_gathered(Tape& tape, Field const& slab, Grid3 const& whole);
Field plan_gathered_nodes(Tape& tape, Field const& slab, Grid3 const& whole);

}  // namespace voxcycle
