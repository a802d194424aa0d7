// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/poisson/multigrid.hpp"
#include "voxcycle/reference/pcg.hpp"

#include <optional>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// The cheapest cycle that copes with nu: what solve_multigrid_pcg uses if it is not told.
/// @param nu  [B, 1, nx, ny, nz]
MultigridOptions multigrid_options_for(at::Tensor const& nu);

/// Reference solution by conjugate gradients with one multigrid V-cycle as preconditioner: the
/// classical baseline, best on smooth nu (7-10 iterations to 1e-8 on the kl family, whatever the
/// contrast). Arguments as solve_pcg; `multigrid` chooses the cycle, or leaves the choice to nu.
/// @throws Error also where Multigrid refuses the grid.
SolveResult solve_multigrid_pcg(Problem const& problem, at::Tensor const& nu,
                                SolveOptions const& options = {},
                                std::optional<MultigridOptions> const& multigrid = {},
                                std::optional<at::Tensor> const& b = std::nullopt,
                                std::optional<at::Tensor> const& start = std::nullopt);

}  // namespace voxcycle
