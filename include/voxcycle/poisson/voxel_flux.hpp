// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// nu grad u of trilinear elements in the voxels' centres, which is its mean over each voxel: what
/// flows (heat, current) is its negative. 0 where nu is 0.
/// @param u   [nx+1, ny+1, nz+1], float64
/// @param nu  [nx, ny, nz], float64
/// @return [nx, ny, nz, 3], along x, y, z
/// @throws Error for shapes that do not fit.
at::Tensor voxel_flux(at::Tensor const& u, at::Tensor const& nu, Grid3 const& grid);

}  // namespace voxcycle
