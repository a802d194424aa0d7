// SPDX-License-Identifier: BSD-3-Clause
#include "train/energy_scale.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"

#include <ATen/ATen.h>

namespace voxcycle {

EnergyScale::EnergyScale(std::string const& loss, LossProblem const& problem)
    : space_(problem.space),
      lift_(lift_of_part(space_.slab(), from_datum(problem.boundary),
                         at::device(problem.device).dtype(at::kDouble))) {
  VOXCYCLE_REQUIRE(!problem.source.is_zero() || problem.boundary.has_different_values(),
                   "loss " << loss
                           << ": the boundary values are all equal and the source is zero, "
                              "so there is no energy to divide by. Give two faces different "
                              "values, or set a source.");
  VOXCYCLE_REQUIRE(problem.source.is_zero() || problem.boundary.has_dirichlet(),
                   "loss " << loss
                           << ": all six faces are zero-flux, so that a source has no "
                              "solution. Fix a value on one face.");
}

at::Tensor EnergyScale::solution(at::Tensor const& nu, Multigrid const& multigrid,
                                 std::optional<at::Tensor> const& b) const {
  auto shape = lift_.sizes().vec();
  shape[0] = nu.size(0);
  at::Tensor const u = lift_.to(nu.scalar_type()).expand(shape).clone(at::MemoryFormat::Contiguous);
  at::Tensor const residual = energy_and_gradient(u, nu, space_, b).gradient.neg_();
  return u.add_(multigrid.full_cycle(residual));
}

at::Tensor EnergyScale::stored_energy(at::Tensor const& u, at::Tensor const& nu) const {
  return energy_and_gradient(u, nu, space_).energy;
}

}  // namespace voxcycle
