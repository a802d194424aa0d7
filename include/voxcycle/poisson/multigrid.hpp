// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/space.hpp"
#include "voxcycle/poisson/boundary.hpp"

#include <memory>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// What the coarse grids of a multigrid hierarchy solve, and how they pass it on.
enum class CoarseOperator {
  average,   ///< the same equation with nu averaged arithmetically over 2x2x2 voxels; trilinear
             ///< interpolation. Costs next to nothing; for smooth nu
  black_box  ///< P^T K P with interpolation P that follows the jumps of nu (Dendy's black box
             ///< multigrid): 39 numbers a coarse node, dearer to set up (some fifty applications
             ///< of K)
};

struct MultigridOptions {
  int smoothing_steps = 2;  ///< Chebyshev-Jacobi steps before and after each coarse correction, > 0
  CoarseOperator coarse = CoarseOperator::average;
  at::ScalarType dtype = at::kDouble;  ///< of the cycle's arithmetic: float64, or float32
  /// Solve for constants in bodies of large nu directly, where nu has such (of one sample). Without
  /// it cycles leave errors there that no residual shows; a cycle takes a tenth longer with it.
  bool deflate_bodies = false;
  /// On a GPU, without bodies: the second cycle of a kind is recorded in a CUDA graph, and it and
  /// all later ones are one launch (and two copies) each. Recording costs about a cycle, and the
  /// fields of a cycle stay in memory.
  bool graph = false;
};

/// Entries of a matrix between neighbours, as finite_volume_couplings makes them.
struct Couplings {
  at::Tensor values;  ///< [B, 3, points], none of whose rows is zero but on Dirichlet points
};

/// A geometric multigrid V-cycle for K(nu) on free nodes, matrix-free on the finest grid: grids of
/// any size are halved while they have more than 200 nodes (prolongation P, restriction P^T). Of an
/// odd axis the last coarse voxel is half full or left out where nu is averaged (averaged_voxels),
/// half as wide in black box multigrid (AxisCoarsening). The coarsest is solved directly or, of odd
/// grids such as 25^3 below 200^3, by a fixed polynomial in K. One cycle from zero is a symmetric
/// positive definite approximation of K^-1: a preconditioner, and what energy_multigrid takes.
///
/// A grid that processes share out (Space) is coarsened by each in its part, until grids are small
/// enough to be whole on every process. Smoothing exchanges planes once, not at each step: parts
/// overlap by as many planes as steps make wrong. All members are then **collective**.
///
/// Chebyshev's interval needs the largest eigenvalue of D^-1 K, which never exceeds that of a
/// single voxel's matrix, whatever nu is (1.5 for cubic voxels).
class Multigrid {
 public:
  /// @param space  or the Grid3 that this process has whole
  /// @param nu  voxels [B, 1, nx, ny, nz] of the part, float32 or float64, > 0
  /// @throws Error on shapes or options that do not fit.
  Multigrid(Space const& space, Boundary const& boundary, at::Tensor const& nu,
            MultigridOptions const& options = {});
  /// For the seven-point matrix of finite volumes: black box coarse grids, whatever the options.
  /// Fields of its cycles are on the points.
  Multigrid(Space const& points, Boundary const& boundary, Couplings const& couplings,
            MultigridOptions const& options = {});
  ~Multigrid();
  Multigrid(Multigrid&&) noexcept;
  Multigrid& operator=(Multigrid&&) noexcept;

  /// @param r  residual b - K u on nodes [B, 1, nx+1, ny+1, nz+1], float32 or float64; its
  ///           values on Dirichlet nodes are ignored
  /// @return e, about K^-1 r, zero on Dirichlet nodes; shape and dtype of r. Thread-safe; the same
  ///         bits for any number of threads.
  at::Tensor cycle(at::Tensor const& r) const;

  /// Full multigrid (F-cycle): the residual is restricted to all grids, the coarsest is solved, and
  /// each finer grid starts from the interpolated solution of the one below and gets one V-cycle.
  /// Not symmetric, so no preconditioner. Arguments and result as cycle.
  at::Tensor full_cycle(at::Tensor const& r) const;

  /// Number of grids, the coarsest included.
  int levels() const;
  /// Conducting bodies whose constants are solved for directly (MultigridOptions::deflate_bodies).
  std::int64_t bodies() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace voxcycle
