// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/space.hpp"
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

/// The stiffness matrix of one grid of a multigrid hierarchy, on all nodes of this process' part.
/// Rows of nodes on faces that cut the grid lack what is beyond: those of others.
class LevelOperator {
 public:
  explicit LevelOperator(Space const& space)
      : LevelOperator(space, regular_axes(space.slab().whole)) {}
  LevelOperator(Space const& space, PointAxes const& axes)
      : space_(space), grid_(space.slab().part()), axes_(axes) {}
  virtual ~LevelOperator() = default;
  LevelOperator(LevelOperator const&) = delete;
  LevelOperator& operator=(LevelOperator const&) = delete;

  Space const& space() const { return space_; }
  /// Of this process. With nodes(axis) points along an axis, which may be one: no voxels then.
  Grid3 const& grid() const { return grid_; }
  PointAxes const& axes() const { return axes_; }  ///< of the whole grid

  virtual at::Tensor apply(at::Tensor const& x) const = 0;  ///< [B, 1, nodes] to the same
  /// [B, 1, nodes]; positive. Nodes without an equation have any number.
  virtual at::Tensor diagonal() const = 0;
  /// About the largest eigenvalue of D^-1 K with D = diag K, of each sample: [B or 1], float64
  virtual at::Tensor top() const = 0;
  virtual bool top_is_bound() const = 0;  ///< whether no eigenvalue exceeds it for certain
  virtual std::unique_ptr<StencilSource> entries() const = 0;
  /// The same matrix on another part with the same own planes, or whole. **Collective**.
  virtual std::unique_ptr<LevelOperator> on(Space const& other) const = 0;
  /// The next coarser grid: half as many voxels along each axis, see axis_coarsening.hpp, and half
  /// the halo. @param boundary  of the whole grid
  virtual Coarsening coarsened(CoarseOperator kind, Boundary const& boundary) const = 0;

 private:
  Space space_;
  Grid3 grid_;
  PointAxes axes_;
};

/// The next coarser grid: its operator and the way there and back.
struct Coarsening {
  std::unique_ptr<LevelOperator> op;
  std::unique_ptr<Transfer> transfer;
};

/// K(nu) itself. @param nu voxels [B, 1, nx, ny, nz], contiguous. @throws Error if it is not.
std::unique_ptr<LevelOperator> make_voxel_operator(Space const& space, at::Tensor const& nu);

/// A symmetric matrix whose rows sum to zero. @param couplings  [B, 13 or 3, nodes], contiguous,
/// see coupling_stencil
std::unique_ptr<LevelOperator> make_coupling_operator(Space const& space,
                                                      at::Tensor const& couplings);

/// Noise in [-0.5, 0.5), the same wherever and whenever it is made and for every sample.
/// @param first  number of the field's first node in the whole grid
at::Tensor noise_like(at::Tensor const& field, std::int64_t first = 0);

/// P^T K P with operator-dependent interpolation P, as 13 couplings a node.
Coarsening coarsen_black_box(LevelOperator const& fine, Boundary const& boundary);

}  // namespace voxcycle
