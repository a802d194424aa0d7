// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/prolongation.hpp"

#include "poisson/multigrid/transfer.hpp"
#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace voxcycle {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor interpolated(at::Tensor const& u, Grid3 const& fine) {
  return at::upsample_trilinear3d(u, {fine.nodes(0), fine.nodes(1), fine.nodes(2)},
                                  /*align_corners=*/true);
}

struct ProlongFunction : torch::autograd::Function<ProlongFunction> {
  static at::Tensor forward(AutogradContext*, at::Tensor const& u, Grid3 const& fine) {
    return interpolated(u, fine);
  }
  static variable_list backward(AutogradContext*, variable_list const& gradients) {
    at::Tensor const gradient = gradients.front().contiguous();
    Grid3 const fine{{gradient.size(2) - 1, gradient.size(3) - 1, gradient.size(4) - 1}};
    return {restrict_nodes(gradient, fine.coarsened()), {}};
  }
};

}  // namespace

at::Tensor prolonged(at::Tensor const& u, Grid3 const& fine) {
  return u.is_cuda() ? ProlongFunction::apply(u, fine) : interpolated(u, fine);
}

}  // namespace voxcycle
