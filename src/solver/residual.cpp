// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/residual.hpp"

#include <cmath>
#include <limits>

#include "solver/system.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {

double relative_residual(Problem const& problem, at::Tensor const& nu, at::Tensor const& u,
                         std::optional<at::Tensor> const& b) {
  at::NoGradGuard const no_grad;
  System const system(problem, nu.contiguous(), b);
  auto const norm = [&](at::Tensor const& field) {
    at::Tensor const r = system.residual(field);
    return std::sqrt(system.dot(r, r));
  };
  at::Tensor const lifted = system.lifted(), field = system.shifted(u);
  system.require_fits("u", field, lifted);
  double const scale = norm(lifted), left = norm(field);
  if (!system.is_rounding(scale, lifted)) return left / scale;
  // Of u as it came: its last digits are rounding, too.
  return system.is_rounding(left, system.in_units(u)) ? 0.0
                                                      : std::numeric_limits<double>::infinity();
}

}  // namespace voxcycle
