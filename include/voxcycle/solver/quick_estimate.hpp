// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/solver/pcg.hpp"

#include <optional>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// What one application of a preconditioner B, such as a multigrid cycle, to the residual r = b - K
/// u says of the relative energy-norm error |u - u*|_K / |u|_K: sqrt((r, B r)) / |u|_K. As good as
/// the cycle: B^-1 is about K on smooth nu; on rough nu it is low, at worst by the root of B K's
/// least eigenvalue. For bounds see estimate_error.
/// @param nu         [1, 1, nx, ny, nz], float64
/// @param u          nodes, float64, with the problem's Dirichlet values
/// @param precondition  B of the same problem and nu
/// @param b             load or empty
/// @return infinity where u is constant but no solution, and where u or B's result is not finite
/// @throws Error as solve_pcg does.
double quick_error_estimate(Problem const& problem, at::Tensor const& nu, at::Tensor const& u,
                            Preconditioner const& precondition,
                            std::optional<at::Tensor> const& b = std::nullopt);

}  // namespace voxcycle
