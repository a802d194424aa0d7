// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "network/layers/slab_conv.hpp"

namespace voxcycle::testing {

struct ConvGradients {
  std::vector<at::Tensor> x;  ///< as x is given; empty unless asked for
  at::Tensor w;
};

inline ConvGradients backward(slab_conv::Geometry const& g, at::Tensor const& gradient,
                              at::TensorList x, at::Tensor const& w, bool needs_x) {
  ConvGradients found{{}, slab_conv::weight_gradient(g, gradient, x, w)};
  if (needs_x) found.x = slab_conv::input_gradient(g, gradient, x, w);
  return found;
}

}  // namespace voxcycle::testing
