// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/errors.hpp"

#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/poisson/sample_sums.hpp"

#include <ATen/ATen.h>

namespace voxcycle {

FieldErrors field_errors(at::Tensor const& u, at::Tensor const& u_ref, at::Tensor const& nu,
                         Space const& space) {
  at::Tensor const reference = u_ref.to(at::kDouble).contiguous();
  at::Tensor const coefficient = nu.to(at::kDouble).contiguous();
  at::Tensor const error = (u.to(at::kDouble) - reference).contiguous();
  auto const norm = [&](at::Tensor const& x) { return plane_dots(space, x, x).sqrt(); };
  at::Tensor const gap = energy_and_gradient(error, coefficient, space).energy /
                         energy_and_gradient(reference, coefficient, space).energy;
  return {norm(error) / norm(reference), gap, gap.clamp_min(0.0).sqrt()};
}

}  // namespace voxcycle
