// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/poisson/parallel.hpp"
#include "voxcycle/poisson/sample_sums.hpp"

#include <ATen/ATen.h>

namespace voxcycle {

/// Sums over contiguous float64 fields in a fixed order.
inline double field_dot(at::Tensor const& a, at::Tensor const& b) {
  if (a.is_cuda()) return at::dot(a.view(-1), b.view(-1)).item<double>();
  return ordered_dot(a.const_data_ptr<double>(), b.const_data_ptr<double>(), a.numel());
}

inline double field_sum(at::Tensor const& a) {
  if (a.is_cuda()) return a.sum().item<double>();
  return ordered_sum(a.const_data_ptr<double>(), a.numel());
}

/// Over the planes of a grid that processes may share out, with the same bits for any number of
/// them.
inline double field_dot(Space const& space, at::Tensor const& a, at::Tensor const& b) {
  return a.is_cuda() ? field_dot(a, b) : plane_dots(space, a, b).item<double>();
}

inline double field_sum(Space const& space, at::Tensor const& a) {
  return a.is_cuda() ? field_sum(a) : plane_sums(space, a).item<double>();
}

inline void remove_mean(at::Tensor& a) {
  a.sub_(field_sum(a) / static_cast<double>(a.numel()));
}

}  // namespace voxcycle
