// SPDX-License-Identifier: BSD-3-Clause
#include "train/energy_scale.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/poisson/sample_sums.hpp"

#include <numbers>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// Least eigenvalue of -Laplace on the box: (pi/L)^2 for an axis between two Dirichlet faces,
/// (pi/2L)^2 for one with a single Dirichlet face, 0 for one with none.
double least_eigenvalue(LossProblem const& problem) {
  double sum = 0.0;
  for (int axis = 0; axis < 3; ++axis) {
    double fixed = 0.0;
    for (int side = 0; side < 2; ++side) {
      fixed += problem.boundary.face(axis, side).kind == FaceKind::dirichlet ? 1.0 : 0.0;
    }
    double const wave = std::numbers::pi * fixed / (2.0 * problem.grid.lengths[axis]);
    sum += wave * wave;
  }
  return sum;
}

}  // namespace

EnergyScale::EnergyScale(std::string const& loss, LossProblem const& problem)
    : grid_(problem.grid),
      source_(problem),
      lift_(lift(problem.grid, problem.boundary, at::kDouble).to(problem.device)) {
  VOXCYCLE_REQUIRE(!source_.is_zero() || problem.boundary.has_different_values(),
                   "loss " << loss
                           << ": the boundary values are all equal and the source is zero, "
                              "so there is no energy to divide by. Give two faces different "
                              "values, or set a source.");
  VOXCYCLE_REQUIRE(source_.is_zero() || problem.boundary.has_dirichlet(),
                   "loss " << loss
                           << ": all six faces are zero-flux, so that a source has no "
                              "solution. Fix a value on one face.");
  auto const& lengths = grid_.lengths;
  factor_ = source_.is_zero()
                ? 0.0
                : lengths[0] * lengths[1] * lengths[2] / (2.0 * least_eigenvalue(problem));
}

at::Tensor EnergyScale::operator()(LossInput const& in) const {
  auto shape = lift_.sizes().vec();
  shape[0] = in.nu.size(0);
  at::Tensor const start = lift_.to(in.nu.scalar_type()).expand(shape).contiguous();
  at::Tensor const scale = energy_and_gradient(start, in.nu, grid_).energy;
  if (source_.is_zero()) return scale;
  at::Tensor const one = at::ones_like(in.nu);
  at::Tensor const mean_inverse =
      sample_dots(in.nu.reciprocal(), one).div_(static_cast<double>(grid_.voxel_count()));
  return scale + factor_ * source_.mean_square(in) * mean_inverse;
}

void EnergyScale::plan(BookedFields const& unit, Source const& source) {
  {
    auto const start = unit.nodes();
    auto const of_one_sample = unit.common().nodes();  // the lift in the unit's type
    unit.nodes();                                      // K u, which nobody asked for
  }
  if (source.is_zero()) return;
  unit.nodes();    // start lives on
  unit.voxels(2);  // ones, 1 / nu
}

}  // namespace voxcycle
