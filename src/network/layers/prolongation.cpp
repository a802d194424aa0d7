// SPDX-License-Identifier: BSD-3-Clause
#include "network/layers/prolongation.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace voxcycle {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor interpolated(at::Tensor const& u, std::array<std::int64_t, 3> const& nodes) {
  return at::upsample_trilinear3d(u, nodes, /*align_corners=*/true);
}

struct ProlongFunction : torch::autograd::Function<ProlongFunction> {
  static at::Tensor forward(AutogradContext*, at::Tensor const& u,
                            std::array<std::int64_t, 3> const& nodes) {
    return interpolated(u, nodes);
  }
  static variable_list backward(AutogradContext*, variable_list const& gradients) {
    return {transposed_prolongation(gradients.front()), {}};
  }
};

}  // namespace

at::Tensor prolonged(at::Tensor const& u, std::array<std::int64_t, 3> const& nodes) {
  return u.is_cuda() ? ProlongFunction::apply(u, nodes) : interpolated(u, nodes);
}

at::Tensor transposed_prolongation(at::Tensor const& gradient) {
  at::Tensor sum = gradient;
  for (int axis = 2; axis < 5; ++axis) {
    at::Tensor const between = sum.slice(axis, 1, {}, 2);
    std::int64_t const count = between.size(axis);
    at::Tensor const coarse = sum.slice(axis, 0, {}, 2).clone();
    coarse.narrow(axis, 0, count).add_(between, 0.5);
    coarse.narrow(axis, 1, count).add_(between, 0.5);
    sum = coarse;
  }
  return sum.contiguous();
}

}  // namespace voxcycle
