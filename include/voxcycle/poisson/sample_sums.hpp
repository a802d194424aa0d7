// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// sum_i a_i b_i of each sample in float64, in a fixed order: [n]. Fields are contiguous and of one
/// type, float32 or float64.
at::Tensor sample_dots(at::Tensor const& a, at::Tensor const& b);

/// A value a sample as a factor of fields [n, 1, x, y, z] of type `dtype`.
at::Tensor as_factor(at::Tensor const& values, at::ScalarType dtype);

}  // namespace voxcycle
