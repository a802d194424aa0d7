// SPDX-License-Identifier: BSD-3-Clause
// Fields [n, c, x, y, z] whose planes along x are shared out over the ranks of a group: rank r has
// the r-th slab. Results have the layout of what they are made of.
#pragma once

#include "voxcycle/comm/communicator.hpp"

#include <ATen/core/Tensor.h>

namespace voxcycle {

// Without a communicator one process has all planes.

/// A slab between the planes of its neighbours that touch it; beyond the first and the last slab
/// there are zeros. A slab of empty_with_room is not copied: it is a part of the result.
/// @return two planes more than `slab`. **Collective**.
at::Tensor with_halo(Communicator const* spatial, at::Tensor const& slab);
/// Its transpose: the gradient in the slab, given that in what with_halo made, which is overwritten
/// where nobody else sees it. **Collective**.
at::Tensor halo_added(Communicator const* spatial, at::Tensor const& gradient);

/// An empty field like `slab` with room for a plane on either side of it in the same memory. Only
/// one sample, channels last, is as dense there as elsewhere: other fields come without room.
at::Tensor empty_with_room(at::Tensor const& slab);

}  // namespace voxcycle
