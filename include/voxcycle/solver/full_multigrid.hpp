// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/poisson/multigrid.hpp"
#include "voxcycle/solver/pcg.hpp"

#include <optional>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// What one pass of full multigrid reached.
struct FmgResult {
  at::Tensor u;  ///< [1, 1, nx+1, ny+1, nz+1], float64
  double relative_residual =
      0.0;  ///< |b - K u| / |b - K lift| over free nodes; 0 if the lift solves
};

/// One pass of full multigrid from the coarsest grid up (Brandt's F-cycle): an answer to about the
/// discretisation error at the cost of two or three V-cycles, with no error control. Pure zero-flux
/// problems have their solution's mean set to zero.
/// @param nu         [1, 1, nx, ny, nz], float64
/// @param multigrid  made for the same problem and nu
/// @param b          load or empty
/// @throws Error as solve_pcg does.
FmgResult full_multigrid(Problem const& problem, at::Tensor const& nu, Multigrid const& multigrid,
                         std::optional<at::Tensor> const& b = std::nullopt);

}  // namespace voxcycle
