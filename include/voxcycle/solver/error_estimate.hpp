// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/poisson/multigrid.hpp"
#include "voxcycle/solver/pcg.hpp"

#include <optional>

#include <ATen/core/Tensor.h>

namespace voxcycle {

struct ErrorEstimateOptions {
  double width = 0.1;        ///< stop once upper <= (1 + width) lower
  int max_cycles = 30;       ///< on u's own residual; the bounds hold however few there are
  int spectrum_cycles = 10;  ///< on a random residual, to find the cycle's weakest mode
  double safety = 0.5;  ///< the weakest mode is taken to be this much weaker than what was seen
};

/// What is known of |u - u*|_K, the energy-norm error of an approximation u of the discrete
/// solution u*: lower <= |u - u*|_K <= upper.
struct ErrorEstimate {
  double lower = 0.0;
  double estimate = 0.0;  ///< between the two; what the cycles themselves say
  double upper = 0.0;
  double norm = 0.0;      ///< |u + correction|_K, to take the others relative to
  at::Tensor correction;  ///< u + correction is the better approximation that the cycles found
  int cycles = 0;         ///< multigrid cycles spent, those of the spectrum included
};

/// Bounds by preconditioned conjugate gradients from u. With d_j the search directions, r_j the
/// residuals, B the cycle and e_k the error left after k steps,
///
///     |e_0|_K^2 = sum_{j<k} (d_j, r_j)^2 / (d_j, K d_j) + |e_k|_K^2,
///     |e_k|_K^2 <= (r_k, B r_k) / lambda,
///
/// the first after Hestenes and Stiefel (1952), lambda the least eigenvalue of B K.
///
/// The lower bound assumes nothing but exact arithmetic: each step's decrease of the energy is
/// measured. The upper bound needs a lambda that is not too large: the least Ritz value of B K seen
/// by Lanczos steps from a random residual (which, unlike u's own, has a share of every weak mode,
/// and most of the weakest) and from u's own, times `safety`. Where B contracts well (kl fields:
/// lambda about 0.9) a couple of cycles give narrow bounds.
///
/// @param nu         [1, 1, nx, ny, nz], float64
/// @param u          nodes, float64, with the problem's Dirichlet values
/// @param multigrid  made for the same problem and nu
/// @param b          load or empty
/// Errors near rounding (below about 1e-14 |u|_K times the square root of K's condition) are not
/// bounded. @throws Error as solve_pcg does, if u does not fit or is not finite, and if the cycle
/// proves not to be positive definite.
ErrorEstimate estimate_error(Problem const& problem, at::Tensor const& nu, at::Tensor const& u,
                             Multigrid const& multigrid, ErrorEstimateOptions const& options = {},
                             std::optional<at::Tensor> const& b = std::nullopt);

}  // namespace voxcycle
