// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/sample_sums.hpp"

#include "voxcycle/poisson/parallel.hpp"

#include "poisson/operator/device.hpp"
#include <ATen/ATen.h>

namespace voxcycle {

at::Tensor sample_dots(at::Tensor const& a, at::Tensor const& b) {
  if (a.is_cuda()) return on_gpu::sample_dots(a, b);
  at::Tensor sums = at::empty({a.size(0)}, a.options().dtype(at::kDouble));
  if (a.is_meta()) return sums;
  std::int64_t const count = a[0].numel();
  AT_DISPATCH_FLOATING_TYPES(a.scalar_type(), "sample_dots", [&] {
    for (std::int64_t k = 0; k < a.size(0); ++k) {
      sums.mutable_data_ptr<double>()[k] =
          ordered_dot(a.const_data_ptr<scalar_t>() + k * count,
                      b.const_data_ptr<scalar_t>() + k * count, count);
    }
  });
  return sums;
}

at::Tensor as_factor(at::Tensor const& values, at::ScalarType dtype) {
  return values.to(dtype).view({-1, 1, 1, 1, 1});
}

}  // namespace voxcycle
