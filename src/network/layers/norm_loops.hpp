// SPDX-License-Identifier: BSD-3-Clause
// Normalisation loops on tensors: x, dy [n, C, x, y, z], both channels last or both in torch's
// default layout, bfloat16, float16, float32 or float64; coefficients [1, C] or [n, C] of any float
// dtype, free of copies in compute_type(x). Threaded over fixed chunks of voxels, so that the bits
// do not depend on the number of threads. On a GPU where x is there, then with coefficients and
// results there, too.
#pragma once

#include <ATen/core/Tensor.h>

namespace voxcycle::norm_loops {

/// What the loops compute in: float64 for float64, else float32.
at::ScalarType compute_type(at::Tensor const& x);

/// @return [n, 2C] float64: sums of x and of x^2 over the voxels of each sample.
at::Tensor moments(at::Tensor const& x);

/// y = leaky(scale x + shift). @param y  like x, may be x
void forward(at::Tensor const& x, at::Tensor const& scale, at::Tensor const& shift, double leak,
             at::Tensor const& y);

/// With g = dy leaky'(scale x + shift): [n, 2C] float64, sums of g and of g (x - mean) a sample.
at::Tensor backward_moments(at::Tensor const& dy, at::Tensor const& x, at::Tensor const& scale,
                            at::Tensor const& shift, at::Tensor const& mean, double leak);

/// @return scale g + linear x + constant
at::Tensor backward(at::Tensor const& dy, at::Tensor const& x, at::Tensor const& scale,
                    at::Tensor const& shift, at::Tensor const& linear, at::Tensor const& constant,
                    double leak);

}  // namespace voxcycle::norm_loops
