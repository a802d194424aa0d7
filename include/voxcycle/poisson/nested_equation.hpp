// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/space.hpp"
#include "voxcycle/poisson/boundary.hpp"
#include "voxcycle/poisson/chebyshev_steps.hpp"

#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// K(nu) u = b on nested grids, 0 the finest: every coarser one holds P^T K P and P^T b with
/// interpolation P that follows the jumps of nu (CoarseOperator::black_box). Its solution, brought
/// up by P, is the best of its space in the energy norm.
///
/// Of grids that processes share out, fields are those of this process' part and right throughout;
/// all members but coarsest() are then **collective**.
class NestedEquation {
 public:
  /// Voxels along an axis of the largest cube that is solved directly.
  static constexpr std::int64_t max_voxels = 10;

  struct Options {
    int levels = 2;  ///< number of grids, >= 1; the coarsest is solved directly
    ChebyshevSteps steps = smoothing_steps(8);  ///< of the smoother (see Smoother), not empty
    /// lift() of the coarsest grid, in nu's type and where nu is; undefined: it is made anew.
    at::Tensor coarsest_lift{};
    std::int64_t above = SlabOptions{}.above;  ///< as in SlabOptions; the coarsest is not above it
  };
  /// @param nu  voxels [B, 1, nx, ny, nz], float32 or float64, contiguous, > 0
  /// @param b   load [B or 1, 1, nx+1, ny+1, nz+1] of nu's dtype, or empty for f = 0 and natural
  ///            zero flux
  /// @throws Error if the grid cannot be halved often enough or leaves too many nodes
  NestedEquation(Space const& space, Boundary const& boundary, at::Tensor const& nu,
                 std::optional<at::Tensor> const& b, Options const& options);
  ~NestedEquation();
  NestedEquation(NestedEquation&&) noexcept;

  /// Of grid `level`.
  Space const& space(int level) const;

  /// The solution on the coarsest grid, [B, 1, nodes] of nu's dtype.
  at::Tensor coarsest() const;

  /// P u with the exact Dirichlet values. @param u  on grid level + 1 @return on grid `level`
  at::Tensor prolonged(int level, at::Tensor const& u) const;
  /// P^T: the gradient on grid level + 1, given that on grid `level`, which must be zero on
  /// Dirichlet nodes.
  at::Tensor restricted(int level, at::Tensor const& gradient) const;

  /// Chebyshev-Jacobi steps on the equation of grid `level` (see Smoother).
  at::Tensor smooth(int level, at::Tensor const& u) const;
  /// What smooth() makes of a change of u. @param v  zero on Dirichlet nodes, as the result
  at::Tensor smooth_change(int level, at::Tensor const& v) const;
  /// b - K u of grid `level` on free nodes, 0 on Dirichlet nodes.
  at::Tensor residual(int level, at::Tensor const& u) const;
  /// K v of grid `level` on free nodes, 0 on Dirichlet nodes. @param v  zero there, too
  at::Tensor product(int level, at::Tensor const& v) const;
  /// The transpose of the linear map that smooth() is in the free values of u.
  at::Tensor transposed(int level, at::Tensor const& gradient) const;

 private:
  struct Level;
  std::vector<Level> levels_;
  at::Tensor coarsest_;
};

}  // namespace voxcycle
