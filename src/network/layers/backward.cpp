// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/backward.hpp"

#include "voxcycle/core/error.hpp"

#include <utility>

#include <torch/csrc/autograd/engine.h>

namespace voxcycle {

using torch::autograd::edge_list;
using torch::autograd::Engine;
using torch::autograd::impl::gradient_edge;

std::vector<at::Tensor> backward(std::vector<at::Tensor> y, std::vector<at::Tensor> gradients,
                                 std::vector<at::Tensor> const& wanted) {
  edge_list from;
  std::vector<at::Tensor> given;
  for (std::size_t k = 0; k < y.size(); ++k) {
    if (!gradients[k].defined()) continue;
    VOXCYCLE_REQUIRE(y[k].requires_grad(), "nothing that could learn has part in a result.");
    from.push_back(gradient_edge(y[k]));
    given.push_back(std::move(gradients[k]));
  }
  y.clear();
  edge_list to;
  for (auto const& tensor : wanted) to.push_back(gradient_edge(tensor));
  return Engine::get_default_engine().execute(from, given, /*keep_graph=*/false,
                                              /*create_graph=*/false,
                                              /*accumulate_grad=*/wanted.empty(), to);
}

}  // namespace voxcycle
