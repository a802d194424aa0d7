// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "level_operator.hpp"
#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Eigenvalues of W K, with W the Jacobi weights, whose part in the error is to become small.
struct Interval {
  double bottom, top;  ///< 0 < bottom < top
};

/// What smoothers reduce: the spectrum's upper three quarters. Of 4, 6, 8 and 12 as the divisor, 4
/// needed the fewest multigrid iterations on the kl family with one or two steps.
constexpr Interval smoothed{0.25, 1.0};

/// W = 1 / (top diag K) on free nodes, 0 on Dirichlet nodes, with each sample's own top: the
/// spectrum of W K ends at about 1. @param mask  1 and 0 there, dtype of the operator
at::Tensor jacobi_weights(LevelOperator const& op, at::Tensor const& mask);

/// `steps` Chebyshev-Jacobi steps on K x = b, in place: the error e becomes q(W K) e with q
/// small over `interval`; by default a smoother. Source of the recurrence: Saad, Iterative Methods
/// for Sparse Linear Systems, algorithm 12.1.
/// @param weights  jacobi_weights: nodes where they are 0 keep their x
/// @param x        [B, 1, nodes]; empty: zero
/// @param b        [B, 1, nodes], contiguous
/// @return x
at::Tensor chebyshev(LevelOperator const& op, at::Tensor const& weights, at::Tensor x,
                     at::Tensor const& b, int steps, Interval const& interval = smoothed);

}  // namespace voxcycle
