// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/poisson/multigrid.hpp"

#include <memory>

#include "poisson/multigrid/axis_coarsening.hpp"
#include "poisson/multigrid/transfer.hpp"
#include "poisson/operator/stencil_rows.hpp"
#include <ATen/core/Tensor.h>

namespace voxcycle {

struct Coarsening;

/// The points of a grid's axes, at equal intervals.
PointAxes regular_axes(Grid3 const& grid);

/// The stiffness matrix of one grid of a multigrid hierarchy, on all nodes.
class LevelOperator {
 public:
  explicit LevelOperator(Grid3 const& grid) : LevelOperator(grid, regular_axes(grid)) {}
  LevelOperator(Grid3 const& grid, PointAxes const& axes) : grid_(grid), axes_(axes) {}
  virtual ~LevelOperator() = default;
  LevelOperator(LevelOperator const&) = delete;
  LevelOperator& operator=(LevelOperator const&) = delete;

  /// With nodes(axis) points along an axis, which may be one: no voxels then.
  Grid3 const& grid() const { return grid_; }
  PointAxes const& axes() const { return axes_; }

  virtual at::Tensor apply(at::Tensor const& x) const = 0;  ///< [B, 1, nodes] to the same
  /// [B, 1, nodes]; positive. Nodes without an equation have any number.
  virtual at::Tensor diagonal() const = 0;
  /// About the largest eigenvalue of D^-1 K with D = diag K, of each sample: [B or 1], float64
  virtual at::Tensor top() const = 0;
  virtual bool top_is_bound() const = 0;  ///< whether no eigenvalue exceeds it for certain
  virtual std::unique_ptr<StencilSource> entries() const = 0;
  /// The next coarser grid: half as many voxels along each axis, see axis_coarsening.hpp.
  virtual Coarsening coarsened(CoarseOperator kind, Boundary const& boundary) const = 0;

 private:
  Grid3 grid_;
  PointAxes axes_;
};

/// The next coarser grid: its operator and the way there and back.
struct Coarsening {
  std::unique_ptr<LevelOperator> op;
  std::unique_ptr<Transfer> transfer;
};

/// K(nu) itself. @param nu voxels [B, 1, nx, ny, nz], contiguous. @throws Error if it is not.
std::unique_ptr<LevelOperator> make_voxel_operator(Grid3 const& grid, at::Tensor const& nu);

/// A symmetric matrix whose rows sum to zero. @param couplings  [B, 13 or 3, nodes], contiguous,
/// see coupling_stencil
std::unique_ptr<LevelOperator> make_coupling_operator(Grid3 const& grid,
                                                      at::Tensor const& couplings);

/// Noise in [-0.5, 0.5), the same wherever and whenever it is made and for every sample.
at::Tensor noise_like(at::Tensor const& field);

/// P^T K P with operator-dependent interpolation P, as 13 couplings a node.
/// @param axes  of the fine grid's points
Coarsening coarsen_black_box(StencilSource const& fine, Boundary const& boundary, PointAxes axes);

}  // namespace voxcycle
