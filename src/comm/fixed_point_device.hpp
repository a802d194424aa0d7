// SPDX-License-Identifier: BSD-3-Clause
// comm/fixed_point.hpp for contiguous float32 or float64 tensors on a GPU:
// src/comm/device/cuda.cpp, or none.cpp, which refuses, in a build without CUDA. Nothing waits for
// the results.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace voxcycle::fixed_point::on_gpu {

/// Largest bit pattern of |x[i]|, in the bits of x's dtype: one int64 on the GPU.
at::Tensor largest_pattern(at::Tensor const& x);

/// fixed[i] += x[i] * scale, rounded to nearest; fixed is int64.
void add(at::Tensor const& x, double scale, at::Tensor const& fixed);

/// x[i] = fixed[i] * quantum
void to_floating(at::Tensor const& fixed, double quantum, at::Tensor const& x);

}  // namespace voxcycle::fixed_point::on_gpu
