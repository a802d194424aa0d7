// SPDX-License-Identifier: BSD-3-Clause
// Fields [n, c, x, y, z] whose planes along x are shared out over the ranks of a group: rank r has
// the r-th slab, all slabs have as many planes. Results have the layout of what they are made of.
#pragma once

#include "voxcycle/comm/communicator.hpp"

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// A slab between the planes of its neighbours that touch it; beyond the first and the last slab
/// there are zeros. @return two planes more than `slab`. **Collective**.
at::Tensor with_halo(Communicator const& spatial, at::Tensor const& slab);
/// Its transpose: the gradient in the slab, given that in what with_halo made. **Collective**.
at::Tensor halo_added(Communicator const& spatial, at::Tensor const& gradient);

/// This rank's slab of a field that every rank has.
at::Tensor own_planes(Communicator const& spatial, at::Tensor const& whole);
/// All slabs one behind the other. **Collective**.
at::Tensor gathered_planes(Communicator const& spatial, at::Tensor const& slab);

/// The same for nodes: the last plane of a slab is the first one of the next, whose values count.
/// **Collective**.
at::Tensor gathered_nodes(Communicator const& spatial, at::Tensor const& slab);
/// The transpose of gathered_nodes: this rank's planes, zeros in the one that the next rank's
/// replace.
at::Tensor own_nodes(Communicator const& spatial, at::Tensor const& whole);

}  // namespace voxcycle
