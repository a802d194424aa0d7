// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/quick_estimate.hpp"

#include <cmath>
#include <limits>

#include "solver/system.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {

double quick_error_estimate(Problem const& problem, at::Tensor const& nu, at::Tensor const& u,
                            Preconditioner const& precondition,
                            std::optional<at::Tensor> const& b) {
  at::NoGradGuard const no_grad;
  at::Tensor const voxels = nu.contiguous();
  System const system(problem, voxels, b);
  at::Tensor const field = system.shifted(u);
  system.require_fits("u", field, system.lifted());
  double const square = 2.0 * system.energy(field);
  at::Tensor const r = system.residual(field);
  double const squared_error = system.dot(r, precondition(r));
  if (squared_error <= 0.0) return 0.0;  // by rounding
  double const estimate = std::sqrt(squared_error / square);
  return std::isnan(estimate) ? std::numeric_limits<double>::infinity() : estimate;
}

}  // namespace voxcycle
