// SPDX-License-Identifier: BSD-3-Clause
// network/layers/norm_loops.hpp for tensors on a GPU: src/network/device/cuda.cpp, or none.cpp,
// which refuses, in a build without CUDA. x is channels last; nothing waits for the result.
#pragma once

#include <ATen/core/Tensor.h>

namespace voxcycle::norm_loops::on_gpu {

at::Tensor moments(at::Tensor const& x);

void forward(at::Tensor const& x, at::Tensor const& scale, at::Tensor const& shift, double leak,
             at::Tensor const& y);

at::Tensor backward_moments(at::Tensor const& dy, at::Tensor const& x, at::Tensor const& scale,
                            at::Tensor const& shift, at::Tensor const& mean, double leak);

at::Tensor backward(at::Tensor const& dy, at::Tensor const& x, at::Tensor const& scale,
                    at::Tensor const& shift, at::Tensor const& linear, at::Tensor const& constant,
                    double leak);

}  // namespace voxcycle::norm_loops::on_gpu
