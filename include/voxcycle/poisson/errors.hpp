// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/space.hpp"

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Errors of a solution against a reference, a value a sample: [B], float64, fractions.
struct FieldErrors {
  at::Tensor rel_l2;             ///< |u - u*| / |u*| over nodes
  at::Tensor energy_gap;         ///< (J(u) - J(u*)) / (1/2 |u*|_K^2) = |u - u*|_K^2 / |u*|_K^2
  at::Tensor energy_norm_error;  ///< |u - u*|_K / |u*|_K
};

/// For any source: the load has no part in J(u) - J(u*) = 1/2 |u - u*|_K^2 (Ritz). The gap is taken
/// relative to half the squared energy norm of u*, which is J(u*) for f = 0, and from the error's
/// own energy, which is the same number (Ritz) without the cancellation of J(u) - J(u*).
/// @param u, u_ref  [B, 1, nx+1, ny+1, nz+1], any float dtype, equal on Dirichlet nodes
/// @param nu        [B, 1, nx, ny, nz]
/// @param space     the grid, or the part of it that fields are on: **collective** then
FieldErrors field_errors(at::Tensor const& u, at::Tensor const& u_ref, at::Tensor const& nu,
                         Space const& space);

}  // namespace voxcycle
