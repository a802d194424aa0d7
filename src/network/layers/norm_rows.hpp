// SPDX-License-Identifier: BSD-3-Clause
// Hot loops of normalisation and activation over rows of channels, compiled once per instruction
// set (src/network/kernels/norm_rows.cpp) and chosen at run time. Order of summation and rounding
// do not depend on the instruction set.
#pragma once

#include "voxcycle/core/instruction_set.hpp"

#include <cstdint>

#include "network/layers/float16.hpp"

namespace voxcycle::norm_rows {

/// bfloat16 as stored.
struct Bf16 {
  std::uint16_t bits;
};

/// Loops for one element type T; Compute is float for Bf16, F16 and float, double for double.
/// All x, y, dy, dx are [rows, channels], contiguous.
template <class T, class Compute>
struct Loops {
  /// sums[c] = sum of x, sums[channels + c] = sum of x^2.
  void (*moments)(T const* x, std::int64_t rows, std::int64_t channels, double* sums);
  /// y = leaky(a x + b), leaky(t) = t where t > 0, else leak t; y may be x.
  void (*forward)(T const* x, std::int64_t rows, std::int64_t channels, Compute const* a,
                  Compute const* b, Compute leak, T* y);
  /// With g = dy * leaky'(a x + b): sums[c] = sum of g, sums[channels + c] = sum of g (x - mean).
  void (*backward_moments)(T const* dy, T const* x, std::int64_t rows, std::int64_t channels,
                           Compute const* a, Compute const* b, Compute const* mean, Compute leak,
                           double* sums);
  /// dx = a g + p x + q; dx may be dy.
  void (*backward)(T const* dy, T const* x, std::int64_t rows, std::int64_t channels,
                   Compute const* a, Compute const* b, Compute const* p, Compute const* q,
                   Compute leak, T* dx);
};

struct Table {
  Loops<Bf16, float> bf16;
  Loops<F16, float> f16;
  Loops<float, float> f32;
  Loops<double, double> f64;
};

VOXCYCLE_KERNEL_TABLES

}  // namespace voxcycle::norm_rows
