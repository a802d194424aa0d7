// SPDX-License-Identifier: BSD-3-Clause
// The libraries' convolutions on tensors without memory (core/rehearsal.hpp): results, and for a
// moment what they need besides.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include <ATen/core/Tensor.h>

namespace voxcycle::conv_rehearsal {

struct Geometry {
  std::int64_t kernel, stride;
  std::array<std::int64_t, 3> padding;
  bool transposed;
};

at::Tensor forward(Geometry const& g, at::Tensor const& x, at::Tensor const& w);

/// @return gradients of x and w, undefined where nobody needs them
std::pair<at::Tensor, at::Tensor> backward(Geometry const& g, at::Tensor const& gradient,
                                           at::Tensor const& x, at::Tensor const& w, bool needs_x,
                                           bool needs_w);

}  // namespace voxcycle::conv_rehearsal
