// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// P^T r: nodes of `fine` to nodes of fine.coarsened(), weights (1/2, 1, 1/2) along each axis.
/// Fields are contiguous [B, 1, ...], float32 or float64.
at::Tensor restrict_nodes(at::Tensor const& r, Grid3 const& fine);

/// x += P e: trilinear interpolation of e, on nodes of fine.coarsened(), to nodes of `fine`.
void add_prolonged(at::Tensor& x, at::Tensor const& e, Grid3 const& fine);

/// The mean of nu over 2x2x2 voxels of `fine`.
at::Tensor average_voxels(at::Tensor const& nu, Grid3 const& fine);

}  // namespace voxcycle
