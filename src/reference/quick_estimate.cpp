// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/reference/quick_estimate.hpp"

#include "voxcycle/poisson/energy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "field_sums.hpp"
#include "reference/system.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {

double quick_error_estimate(Problem const& problem, at::Tensor const& nu, at::Tensor const& u,
                            Multigrid const& multigrid, std::optional<at::Tensor> const& b) {
  at::NoGradGuard const no_grad;
  at::Tensor const voxels = nu.contiguous(), field = u.contiguous();
  System const system(problem, voxels, b);
  system.require_fits("u", field, system.lifted());
  double const square =
      2.0 * energy_and_gradient(field, voxels, problem.grid).energy.item<double>();
  at::Tensor const r = system.residual(field);
  double const error = std::sqrt(std::max(0.0, field_dot(r, multigrid.cycle(r))));
  if (error == 0.0) return 0.0;
  return square > 0.0 ? error / std::sqrt(square) : std::numeric_limits<double>::infinity();
}

}  // namespace voxcycle
