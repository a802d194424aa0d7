// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "poisson/multigrid/chebyshev.hpp"
#include "poisson/operator/level_operator.hpp"
#include <ATen/core/Tensor.h>

namespace voxcycle {

/// What takes the direct solver's place on a coarsest grid that is too large for it: from zero,
/// Chebyshev-Jacobi steps over nearly the whole spectrum of D^-1 K, somewhat more than twice as
/// many as the grid has voxels along its longest axis, n. A fixed polynomial: a symmetric
/// approximation of K^-1.
///
/// Of the Laplacian the least eigenvalue of D^-1 K is about 3.7/n^2 between two Dirichlet faces and
/// 0.9/n^2 with one, where the top is 1.5: steps from top/(2 n^2) leave an eighth of an error.
/// Where nu jumps, few eigenvalues are less. The number of steps is odd: then the polynomial is
/// positive wherever an eigenvalue lies, below the interval or above.
class CoarsestPolynomial {
 public:
  /// @param op       outlives this
  /// @param weights  jacobi_weights of its free nodes
  CoarsestPolynomial(LevelOperator const& op, at::Tensor const& weights);

  /// About K^-1 b on free nodes, zero on Dirichlet nodes: [B, 1, nodes].
  at::Tensor solve(at::Tensor const& b) const;

 private:
  void raise_top();

  LevelOperator const& op_;
  at::Tensor weights_;  ///< of whose product with K the interval's top is the largest eigenvalue
  Interval interval_;
  int steps_;
};

}  // namespace voxcycle
