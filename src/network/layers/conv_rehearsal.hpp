// SPDX-License-Identifier: BSD-3-Clause
// The libraries' convolutions on tensors without memory (core/rehearsal.hpp): results, and for a
// moment what they need besides.
#pragma once

#include <array>
#include <cstdint>

#include <ATen/core/Tensor.h>

namespace voxcycle::conv_rehearsal {

struct Geometry {
  std::int64_t kernel, stride;
  std::array<std::int64_t, 3> padding;
  bool transposed;
};

at::Tensor forward(Geometry const& g, at::Tensor const& x, at::Tensor const& w);

at::Tensor input_gradient(Geometry const& g, at::Tensor const& gradient, at::Tensor const& x);

at::Tensor weight_gradient(Geometry const& g, at::Tensor const& gradient, at::Tensor const& x,
                           at::Tensor const& w);

}  // namespace voxcycle::conv_rehearsal
