// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/space.hpp"
#include "voxcycle/poisson/chebyshev_steps.hpp"

#include <memory>
#include <optional>

#include <ATen/core/Tensor.h>

namespace voxcycle {

class LevelOperator;

/// Chebyshev-Jacobi steps on K(nu) u = b over the free nodes, which remove the oscillating part of
/// the error: it becomes q(D^-1 K / top) e with D = diag K and q the polynomial of the steps. top
/// is the largest eigenvalue of a single voxel's D^-1 K (1.5 for cubic voxels), which none of the
/// whole exceeds; on coarser grids of NestedEquation, of each sample's own matrix.
///
/// Of a grid that processes share out, fields are those of this process' part and right throughout;
/// neighbours' planes are exchanged once for as many steps as parts overlap by. All members are
/// then **collective**.
class Smoother {
 public:
  /// @param mask   free_node_mask of the problem, of nu's dtype
  /// @param nu     voxels [B, 1, nx, ny, nz], float32 or float64, contiguous, > 0
  /// @param steps  one or more, an application of K each
  /// @throws Error on shapes or options that do not fit.
  Smoother(Space const& space, at::Tensor const& mask, at::Tensor const& nu, ChebyshevSteps steps);
  /// For an operator that is there already.
  Smoother(std::unique_ptr<LevelOperator> op, at::Tensor const& mask, ChebyshevSteps steps);
  ~Smoother();
  Smoother(Smoother&&) noexcept;

  /// u after the steps; Dirichlet nodes keep their values.
  /// @param u  nodes [B, 1, nx+1, ny+1, nz+1] of nu's dtype
  /// @param b  load [B or 1, 1, nx+1, ny+1, nz+1], or empty for f = 0 and natural zero flux
  at::Tensor smooth(at::Tensor const& u, std::optional<at::Tensor> const& b = std::nullopt) const;

  /// The transpose of the linear map that smooth() is in the free values of u (b = 0), so
  /// D q(D^-1 K) D^-1: what backpropagation through smooth() needs. Zero on Dirichlet nodes.
  at::Tensor transposed(at::Tensor const& gradient) const;

  /// b - K u on free nodes, 0 on Dirichlet nodes. @param u, b  as for smooth()
  at::Tensor residual(at::Tensor const& u, std::optional<at::Tensor> const& b) const;
  /// K u there. @param u  as for smooth()
  at::Tensor product(at::Tensor const& u) const;

 private:
  at::Tensor on_free_nodes(at::Tensor const& field) const;

  std::unique_ptr<LevelOperator> op_;
  at::Tensor jacobi_weights_;
  ChebyshevSteps steps_;
};

}  // namespace voxcycle
