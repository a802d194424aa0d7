// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "level_operator.hpp"
#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Eigenvalues of D^-1 K whose part in the error is to become small.
struct Interval {
  double bottom, top;  ///< 0 < bottom < top
};

/// From op.top() down to a quarter of it. Of 4, 6, 8 and 12 as that divisor, 4 needed the fewest
/// multigrid iterations on the kl family with one or two steps.
Interval smoothed_interval(LevelOperator const& op);

/// 1 / diag K on free nodes, 0 on Dirichlet nodes. @param mask  1 and 0 there, dtype of the
/// operator
at::Tensor inverse_diagonal(LevelOperator const& op, at::Tensor const& mask);

/// `steps` Chebyshev-Jacobi steps on K x = b, in place: the error e becomes q(D^-1 K) e with q
/// small over `interval`. Source of the recurrence: Saad, Iterative Methods for Sparse Linear
/// Systems, algorithm 12.1.
/// @param inverse  inverse_diagonal: nodes where it is 0 keep their x
/// @param x        [B, 1, nodes]; empty: zero
/// @param b        [B, 1, nodes], contiguous
/// @return x
at::Tensor chebyshev(LevelOperator const& op, at::Tensor const& inverse, at::Tensor x,
                     at::Tensor const& b, int steps, Interval const& interval);
/// The same over smoothed_interval(op): a smoother.
at::Tensor chebyshev(LevelOperator const& op, at::Tensor const& inverse, at::Tensor x,
                     at::Tensor const& b, int steps);

}  // namespace voxcycle
