// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/errors.hpp"

#include "voxcycle/poisson/energy.hpp"

#include <ATen/ATen.h>

namespace voxcycle {

FieldErrors field_errors(at::Tensor const& u, at::Tensor const& u_ref, at::Tensor const& nu,
                         Grid3 const& grid) {
  at::Tensor const reference = u_ref.to(at::kDouble).contiguous();
  at::Tensor const coefficient = nu.to(at::kDouble).contiguous();
  at::Tensor const error = (u.to(at::kDouble) - reference).contiguous();
  auto const norm = [](at::Tensor const& x) { return x.flatten(1).square().sum(1).sqrt(); };
  at::Tensor const gap = energy_and_gradient(error, coefficient, grid).energy /
                         energy_and_gradient(reference, coefficient, grid).energy;
  return {norm(error) / norm(reference), gap, gap.clamp_min(0.0).sqrt()};
}

}  // namespace voxcycle
