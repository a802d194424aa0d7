// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/sample_sums.hpp"

#include "voxcycle/poisson/parallel.hpp"

#include "poisson/operator/device.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// @param sum  of so many values from a place on
template <class Sum>
at::Tensor sums_of_planes(Space const& space, at::Tensor const& field, Sum const& sum) {
  Planes const own = space.slab().own_nodes();
  std::int64_t const planes = field.size(2), length = field.size(3) * field.size(4);
  auto const options = field.options().dtype(at::kDouble);
  at::Tensor terms = at::empty({field.size(0), own.count}, options);
  if (field.is_meta()) return space.sum_of_planes(terms);
  auto* const term = terms.mutable_data_ptr<double>();
  parallel_for(terms.numel(), length, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t const plane = i / own.count * planes + own.begin + i % own.count;
      term[i] = sum(plane * length, length);
    }
  });
  return space.sum_of_planes(terms);
}

}  // namespace

at::Tensor plane_dots(Space const& space, at::Tensor const& a, at::Tensor const& b) {
  if (a.is_cuda() && space.is_whole()) return sample_dots(a, b);
  if (a.is_cuda()) {
    at::Tensor const own =
        sample_dots(space.own_nodes(a).contiguous(), space.own_nodes(b).contiguous());
    return space.sum_of_parts(own);
  }
  return AT_DISPATCH_FLOATING_TYPES(a.scalar_type(), "plane_dots", [&] {
    auto const *const x = a.const_data_ptr<scalar_t>(), *const y = b.const_data_ptr<scalar_t>();
    return sums_of_planes(
        space, a, [=](auto from, auto count) { return lane_dot(x + from, y + from, count); });
  });
}

at::Tensor plane_sums(Space const& space, at::Tensor const& a) {
  return AT_DISPATCH_FLOATING_TYPES(a.scalar_type(), "plane_sums", [&] {
    auto const* const x = a.const_data_ptr<scalar_t>();
    return sums_of_planes(space, a,
                          [=](auto from, auto count) { return lane_sum(x + from, count); });
  });
}

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
