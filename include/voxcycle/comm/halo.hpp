// SPDX-License-Identifier: BSD-3-Clause
// Fields [n, c, x, y, z] whose planes along x are shared out over the ranks of a group: rank r has
// the r-th slab. Results have the layout of what they are made of.
#pragma once

#include "voxcycle/comm/communicator.hpp"

#include <ATen/core/Tensor.h>

namespace voxcycle {

// Without a communicator one process has all planes.

/// A slab between the planes of its neighbours that touch it; beyond the first and the last slab
/// there are zeros. @return two planes more than `slab`. **Collective**.
at::Tensor with_halo(Communicator const* spatial, at::Tensor const& slab);
/// Its transpose: the gradient in the slab, given that in what with_halo made. **Collective**.
at::Tensor halo_added(Communicator const* spatial, at::Tensor const& gradient);

}  // namespace voxcycle
