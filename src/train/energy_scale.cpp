// SPDX-License-Identifier: BSD-3-Clause
#include "train/energy_scale.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"

#include <ATen/ATen.h>

namespace voxcycle {

EnergyScale::EnergyScale(std::string const& loss, LossProblem const& problem)
    : problem_(problem), lift_(lift(problem.grid, problem.boundary, at::kDouble)) {
  VOXCYCLE_REQUIRE(lift_.max().item<double>() > lift_.min().item<double>(),
                   "loss " << loss
                           << ": the boundary values are all equal, so the lift has no "
                              "energy to divide by. Give two faces different values.");
}

at::Tensor EnergyScale::operator()(at::Tensor const& nu) const {
  auto shape = lift_.sizes().vec();
  shape[0] = nu.size(0);
  at::Tensor const start = lift_.to(nu.scalar_type()).expand(shape).contiguous();
  return energy_and_gradient(start, nu, problem_.grid).energy;
}

}  // namespace voxcycle
