// SPDX-License-Identifier: BSD-3-Clause
// Solutions from the nodes of a grid to those of the grid twice as fine.
#pragma once

#include <array>
#include <cstdint>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Trilinear interpolation; node k of the coarse grid is node 2k of the fine one. Differentiable,
/// and on a GPU with the same bits every time: torch's own backward adds up there in any order.
/// @param u      [n, 1, x, y, z], float32 or float64, n > 0
/// @param nodes  2x - 1, 2y - 1, 2z - 1
at::Tensor prolonged(at::Tensor const& u, std::array<std::int64_t, 3> const& nodes);

/// Its transpose: weights (1/2, 1, 1/2) along each axis. @return [n, 1, (x+1)/2, (y+1)/2, (z+1)/2]
at::Tensor transposed_prolongation(at::Tensor const& gradient);

}  // namespace voxcycle
