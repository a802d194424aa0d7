// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/network/forward_context.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// The equation's smoother on one grid, for samples that are known by what the network sees of
/// them: x [n, inputs, nx, ny, nz].
class FieldSmoother {
 public:
  virtual ~FieldSmoother() = default;
  /// u [n, 1, nx+1, ny+1, nz+1], smoothed; Dirichlet values stay.
  virtual at::Tensor smooth(at::Tensor const& u, at::Tensor const& x) const = 0;
  /// The gradient in the free values of u, given that in the smoothed ones.
  virtual at::Tensor transposed(at::Tensor const& gradient, at::Tensor const& x) const = 0;
};

/// The equation of one micro-batch of samples on nested grids: level 0 is the grid of the pass,
/// each further one half as fine. Fields are [n, 1, nx+1, ny+1, nz+1] of the level.
class NestedFields {
 public:
  virtual ~NestedFields() = default;
  /// The solution on the coarsest grid.
  virtual at::Tensor coarsest() const = 0;
  /// u of level + 1 on the nodes of `level`, with the exact Dirichlet values.
  virtual at::Tensor prolonged(int level, at::Tensor const& u) const = 0;
  /// The gradient in u of level + 1, given that in what prolonged() makes of it.
  virtual at::Tensor restricted(int level, at::Tensor const& gradient) const = 0;
  /// As FieldSmoother's smooth and transposed.
  virtual at::Tensor smooth(int level, at::Tensor const& u) const = 0;
  virtual at::Tensor transposed(int level, at::Tensor const& gradient) const = 0;
  /// What smooth() makes of a change v of u. Changes are zero on Dirichlet nodes.
  virtual at::Tensor smooth_change(int level, at::Tensor const& v) const = 0;
  /// b - K u of the equation on `level`, 0 on Dirichlet nodes.
  virtual at::Tensor residual(int level, at::Tensor const& u) const = 0;
  /// K v of a change, 0 on Dirichlet nodes.
  virtual at::Tensor product(int level, at::Tensor const& v) const = 0;
};

/// @param x       what the network sees of the micro-batch, [n, inputs, nx, ny, nz], n > 0
/// @param type    of the solution
/// @param levels  number of grids
using NestedFieldsOf = std::function<std::shared_ptr<NestedFields const>(
    at::Tensor const& x, at::ScalarType type, int levels)>;

/// What the network knows of the equation on one grid. Lift and mask make Dirichlet values hold
/// exactly: u = lift + mask * size * N(nu). All fields are measured from the boundary's datum.
struct NodalFrame {
  at::Tensor lift;  ///< [1, 1, nx+1, ny+1, nz+1] float32
  at::Tensor mask;  ///< the same shape; 0 on Dirichlet nodes, 1 elsewhere
  std::shared_ptr<FieldSmoother const> smoother = {};  ///< null: none
  NestedFieldsOf nested = {};  ///< of passes whose finest grid this is; empty: none
  double datum = 0.0;          ///< see datum_of
  double size = 1.0;           ///< of solutions: corrections are in units of it
};
using FrameOfGrid = std::function<NodalFrame(Grid3 const&, at::Device)>;

/// Whether neighbouring Dirichlet nodes have different values, as where two faces meet: a field
/// prolonged from the coarser grid then lacks the exact values beside the shared edge.
bool has_steps(NodalFrame const& frame);

/// float32, or float64 where context.dtype is.
at::ScalarType solution_type(ForwardContext const& context);

/// MicroBatches of u, smoothed by the frame's smoother (as they are where it has none);
/// differentiable in u.
MicroBatches smoothed(NodalFrame const& frame, MicroBatches const& u, MicroBatches const& x);

/// The frames of the grids that a network has met, each made once.
class FrameCache {
 public:
  explicit FrameCache(FrameOfGrid make) : make_(std::move(make)) {}
  /// The grid's frame in solution_type(pass) on context.device; stays valid until clear().
  NodalFrame const& at(ForwardContext const& context, Grid3 const& grid);
  /// Forgets them: those of fine grids are large.
  void clear() { frames_.clear(); }
  /// MicroBatches of u on the grid with the exact Dirichlet values, which a prolonged u may lack.
  MicroBatches with_dirichlet_values(ForwardContext const& context, Grid3 const& grid,
                                     MicroBatches const& u);

 private:
  FrameOfGrid make_;
  std::map<std::tuple<std::string, at::ScalarType, std::string>, NodalFrame> frames_;
  std::map<std::string, bool> has_steps_;  ///< by grid
};

}  // namespace voxcycle
