// SPDX-License-Identifier: BSD-3-Clause
// Hot loops of the exact gradient sums, compiled once per instruction set
// (src/comm/kernels/fixed_point.cpp) and chosen at run time. Results do not depend on it.
#pragma once

#include "voxcycle/core/instruction_set.hpp"

#include <cstdint>

namespace voxcycle::fixed_point {

template <class T>
struct Loops {
  /// Largest bit pattern of |x[i]|: that of the largest magnitude, also for infinities and NaN.
  std::int64_t (*largest_pattern)(T const* x, std::int64_t count);
  /// fixed[i] += x[i] * scale, rounded to nearest.
  void (*add)(T const* x, std::int64_t count, double scale, std::int64_t* fixed);
  /// x[i] = fixed[i] * quantum.
  void (*to_floating)(std::int64_t const* fixed, std::int64_t count, double quantum, T* x);
};

struct Table {
  Loops<float> f32;
  Loops<double> f64;
};

VOXCYCLE_KERNEL_TABLES

}  // namespace voxcycle::fixed_point
