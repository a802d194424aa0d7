// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/network/level_problem.hpp"

namespace voxcycle {

/// What a block sees of u: what one Jacobi step would change, at the eight corners of each voxel.
/// In units of n/size, with n the voxels along the grid's longest edge, as corrections are: the
/// same on every grid for the same error of one voxel's size. Differentiable in u.
/// @param problem  of the grid, with one smoothing step
/// @param u        [n, 1, nx+1, ny+1, nz+1], Dirichlet values exact
/// @param x        the network's input there
/// @return [n, 8, nx, ny, nz], corners numbered 4 x + 2 y + z
MicroBatches residual_input(LevelProblem const& problem, Grid3 const& grid, MicroBatches const& u,
                            MicroBatches const& x);

}  // namespace voxcycle
