// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/conductivity.hpp"

#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/solver/multigrid_pcg.hpp"

namespace voxcycle {
namespace {

/// u = 1 on the lower face of the axis, 0 on the upper one.
Boundary unit_difference(std::size_t axis) {
  Boundary boundary;
  boundary.faces.fill(Face{});
  boundary.faces[2 * axis] = {FaceKind::dirichlet, 1.0};
  boundary.faces[2 * axis + 1] = {FaceKind::dirichlet, 0.0};
  return boundary;
}

}  // namespace

EffectiveConductivity effective_conductivity(Grid3 const& grid, at::Tensor const& nu,
                                             SolveOptions const& options) {
  require_valid(grid);
  EffectiveConductivity result;
  result.converged = true;
  double const volume = grid.lengths[0] * grid.lengths[1] * grid.lengths[2];
  for (std::size_t axis = 0; axis < 3; ++axis) {
    Problem const problem{grid, unit_difference(axis)};
    auto const solved = solve_multigrid_pcg(problem, nu, options);
    // What flows through is the energy u^T K u for a difference of 1, with the square of u's error;
    // the reactions on the faces have the error itself.
    double const through = 2.0 * energy_and_gradient(solved.u, nu, grid).energy.item<double>();
    double const length = grid.lengths[axis];
    result.value[axis] = through * length / (volume / length);
    result.iterations[axis] = solved.iterations;
    result.relative_residual[axis] = solved.relative_residual;
    result.error_bound[axis] = solved.error_bound * solved.error_bound;
    result.converged = result.converged && solved.converged;
  }
  return result;
}

}  // namespace voxcycle
