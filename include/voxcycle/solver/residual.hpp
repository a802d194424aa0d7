// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/solver/pcg.hpp"

#include <optional>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// |b - K u| / |b - K lift| over free nodes: what solve_pcg compares with its tolerance. Where the
/// lift solves the system but for rounding, 0 if u does, too, and infinity if it does not.
/// @param nu  [1, 1, nx, ny, nz], float64
/// @param u   nodes, float64, with the problem's Dirichlet values
/// @param b   load or empty
/// @throws Error as solve_pcg does, and if u does not fit.
double relative_residual(Problem const& problem, at::Tensor const& nu, at::Tensor const& u,
                         std::optional<at::Tensor> const& b = std::nullopt);

}  // namespace voxcycle
