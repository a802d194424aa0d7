// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/poisson/parallel.hpp"

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

inline void remove_mean(at::Tensor& a) {
  a.sub_(field_sum(a) / static_cast<double>(a.numel()));
}

}  // namespace voxcycle
