// SPDX-License-Identifier: BSD-3-Clause
// Solutions from the nodes of a grid to those of the grid twice as fine.
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Trilinear interpolation; node k of the coarse grid is node 2k of the fine one. Differentiable,
/// and on a GPU with the same bits every time: torch's own backward adds up there in any order.
/// @param u  on fine.coarsened(), [n, 1, ...], float32 or float64, n > 0
at::Tensor prolonged(at::Tensor const& u, Grid3 const& fine);

}  // namespace voxcycle
