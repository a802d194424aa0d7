// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/poisson/boundary.hpp"

#include "poisson/multigrid/dense_cholesky.hpp"
#include "poisson/operator/stencil_rows.hpp"
#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Direct solver of the coarsest grid: a dense Cholesky factor a sample, in float64. With no
/// Dirichlet node the solution's mean is fixed.
class CoarsestSolver {
 public:
  /// Grids with more nodes are refused: factors take the third power of it in time, the second in
  /// memory.
  static constexpr std::int64_t node_limit = 1500;

  /// @param matrix  whose rows sum to zero
  /// @throws Error beyond node_limit, or if a sample's matrix is not positive definite.
  CoarsestSolver(StencilSource const& matrix, Boundary const& boundary);

  /// K^-1 b on free nodes, zero on Dirichlet nodes: [B, 1, nodes].
  at::Tensor solve(at::Tensor const& b) const;

 private:
  at::Tensor mask_;  // [1, nodes]
  DenseCholesky cholesky_;
};

}  // namespace voxcycle
