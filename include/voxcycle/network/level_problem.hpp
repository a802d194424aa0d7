// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/field/source.hpp"
#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/network/forward_context.hpp"
#include "voxcycle/network/source_term.hpp"
#include "voxcycle/poisson/boundary.hpp"
#include "voxcycle/poisson/chebyshev_steps.hpp"

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include <ATen/core/Tensor.h>

namespace voxcycle {

class NestedEquation;
class Smoother;

/// The equation that a network solves on any grid, and what its levels do with it.
struct EquationOptions {
  Boundary boundary{};
  Source source{};
  int smoothing = 0;    ///< smoothing steps on the solution of each level; 0: none
  bool nested = false;  ///< whether coarser levels are nested in the finest (NestedEquation)
};

/// About how large solutions are, measured from the datum: the range of the Dirichlet values or
/// |f|/8, u of the constant source f for nu = 1 between faces of 0 that are one apart. 1 where both
/// are 0.
double solution_size(Boundary const& boundary, Source const& source);

/// The discrete problem of one level, as a network uses it. Lift and mask make Dirichlet values
/// hold exactly: u = lift + mask * size * N(nu). All fields are measured from the boundary's datum.
/// Samples are known by what the network sees of them: x [n, inputs, nx, ny, nz], n > 0. Of a grid
/// that processes share out all fields are those of this one's part and right throughout, and so
/// are gradients.
class LevelProblem {
 public:
  /// @param type  of the solution
  LevelProblem(EquationOptions const& options, Space const& space, at::ScalarType type,
               at::Device device);

  Space const& space() const { return space_; }
  /// Whether each level has smoothing steps of its own; nested ones have those of NestedEquation.
  bool smooths() const { return !nested_ && !steps_.empty(); }
  /// u [n, 1, nx+1, ny+1, nz+1], smoothed; Dirichlet values stay.
  at::Tensor smooth(at::Tensor const& u, at::Tensor const& x) const;
  /// The gradient in the free values of u, given that in the smoothed ones.
  at::Tensor transposed(at::Tensor const& gradient, at::Tensor const& x) const;

  bool is_nested() const { return nested_; }
  /// The equation of one micro-batch on nested grids, this one the finest.
  /// @param levels  number of grids
  /// @param above   see Slabs
  std::shared_ptr<NestedEquation const> nested(at::Tensor const& x, int levels,
                                               std::int64_t above = SlabOptions{}.above) const;

  /// MicroBatches of u with the exact Dirichlet values, which a prolonged u may lack.
  MicroBatches with_dirichlet_values(MicroBatches const& u) const;

  at::Tensor const lift;  ///< [1, 1, nx+1, ny+1, nz+1] of the solution's type
  at::Tensor const mask;  ///< the same shape; 0 on Dirichlet nodes, 1 elsewhere
  double const datum;     ///< see datum_of
  double const size;      ///< of solutions: corrections are in units of it

 private:
  Smoother smoother(at::Tensor const& nu) const;

  Space space_;
  Boundary boundary_;  // measured from the datum
  ChebyshevSteps steps_;
  bool nested_;
  SourceTerm source_;
  std::map<int, at::Tensor> mutable coarsest_lifts_;  // of nested(), by levels
};

/// float32, or float64 where context.dtype is.
at::ScalarType solution_type(ForwardContext const& context);

/// MicroBatches of u after the problem's smoothing steps (as they are where it has none);
/// differentiable in u.
MicroBatches smoothed(LevelProblem const& problem, MicroBatches const& u, MicroBatches const& x);

/// The problems of the grids that a network has met, each made once.
class LevelProblems {
 public:
  explicit LevelProblems(EquationOptions options = {}) : options_(std::move(options)) {}
  /// The grid's problem in solution_type(context) on context.device; stays valid until clear().
  LevelProblem const& at(ForwardContext const& context, Grid3 const& grid);
  /// Forgets them: those of fine grids are large.
  void clear() { problems_.clear(); }

 private:
  EquationOptions options_;
  std::map<std::tuple<std::string, at::ScalarType, std::string, int>, LevelProblem> problems_;
};

}  // namespace voxcycle
