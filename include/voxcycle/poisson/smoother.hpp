// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/booked_fields.hpp"
#include "voxcycle/grid/grid3.hpp"

#include <memory>
#include <optional>

#include <ATen/core/Tensor.h>

namespace voxcycle {

class LevelOperator;

/// A fixed number of Chebyshev-Jacobi steps on K(nu) u = b over the free nodes: the polynomial
/// smoother of multigrid, which removes the oscillating part of the error and leaves the smooth
/// part to coarser grids. The error e becomes q(D^-1 K) e, D = diag K, with q small on the upper
/// three quarters of the spectrum; its top never exceeds that of a single voxel's matrix (1.5 for
/// cubic voxels), so the steps are the same for every sample.
class Smoother {
 public:
  /// @param mask   free_node_mask of the problem, of nu's dtype
  /// @param nu     voxels [B, 1, nx, ny, nz], float32 or float64, contiguous, > 0
  /// @param steps  applications of K, > 0. @throws Error on shapes or options that do not fit.
  Smoother(Grid3 const& grid, at::Tensor const& mask, at::Tensor const& nu, int steps);
  /// For an operator that is there already. @param steps  > 0
  Smoother(std::unique_ptr<LevelOperator> op, at::Tensor const& mask, int steps);
  ~Smoother();
  Smoother(Smoother&&) noexcept;

  /// u after the steps; Dirichlet nodes keep their values.
  /// @param u  nodes [B, 1, nx+1, ny+1, nz+1] of nu's dtype
  /// @param b  load [B or 1, 1, nx+1, ny+1, nz+1], or empty for f = 0 and natural zero flux
  at::Tensor smooth(at::Tensor const& u, std::optional<at::Tensor> const& b = std::nullopt) const;

  /// The transpose of the linear map that smooth() is in the free values of u (b = 0), so
  /// D q(D^-1 K) D^-1: what backpropagation through smooth() needs. Zero on Dirichlet nodes.
  at::Tensor transposed(at::Tensor const& slope) const;

  /// Books a smoother that is made, works once, in either direction, and goes.
  static void plan(BookedFields const& fields);

 private:
  std::unique_ptr<LevelOperator> op_;
  at::Tensor jacobi_weights_;
  int steps_;
};

}  // namespace voxcycle
