// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/poisson/multigrid.hpp"
#include "voxcycle/solver/pcg.hpp"

#include <optional>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// What solve_multigrid_pcg uses if it is not told: a cycle in float32 (in float64 where nu's
/// contrast times the squared ratio of a voxel's edges is 1e8 or more), with black box coarse grids
/// where nu jumps by more than a factor of two between neighbouring voxels, and with the bodies of
/// one sample deflated there.
/// @param nu  [B, 1, nx, ny, nz], float32 or float64, >= 0
MultigridOptions multigrid_options_for(Space const& space, at::Tensor const& nu);

/// nu with something small, of no weight in a preconditioner, in place of zeros: cycles need an
/// equation on every node.
at::Tensor without_zeros(at::Tensor const& nu);

/// The hierarchy of a problem's scheme; zeros of nu are replaced as above.
Multigrid multigrid_for(Problem const& problem, at::Tensor const& nu,
                        MultigridOptions const& options);

/// Divides nu and the load by a power of two where cycles in float32 would overflow or vanish
/// otherwise. The solution stays the same.
void fit_float32(Space const& space, at::Tensor& nu, std::optional<at::Tensor>& b);

/// Reference solution by conjugate gradients in float64 with one multigrid V-cycle as
/// preconditioner: the classical baseline. Without `multigrid` the cycle works in float32 and fits
/// nu (multigrid_options_for). Iterations to 1e-8 at 32^3 and 64^3: 6 on kl, 6 to 9 on lognormal
/// and two-phase fields up to contrast 1e6, 9 to 14 on thirty conducting spheres of 1e2 to 1e6.
/// Other arguments as solve_pcg.
/// @throws Error also where Multigrid refuses the grid.
SolveResult solve_multigrid_pcg(Problem const& problem, at::Tensor const& nu,
                                SolveOptions const& options = {},
                                std::optional<MultigridOptions> const& multigrid = {},
                                std::optional<at::Tensor> const& b = std::nullopt,
                                std::optional<at::Tensor> const& start = std::nullopt);

}  // namespace voxcycle
