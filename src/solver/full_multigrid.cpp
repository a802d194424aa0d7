// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/full_multigrid.hpp"

#include <cmath>

#include "solver/system.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {

FmgResult full_multigrid(Problem const& problem, at::Tensor const& nu, Multigrid const& multigrid,
                         std::optional<at::Tensor> const& b) {
  at::NoGradGuard const no_grad;
  System const system(problem, nu.contiguous(), b);
  FmgResult result{system.lifted(), 0.0};
  at::Tensor r = system.residual(result.u);
  double const scale = std::sqrt(system.dot(r, r));
  if (system.is_rounding(scale, result.u)) {
    system.unshift(result.u);
    return result;  // the lift solves the system
  }
  result.u.add_(multigrid.full_cycle(r));
  if (system.floating()) {
    system.centre(result.u);
  }
  r = system.residual(result.u);
  result.relative_residual = std::sqrt(system.dot(r, r)) / scale;
  system.unshift(result.u);
  return result;
}

}  // namespace voxcycle
