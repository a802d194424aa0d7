// SPDX-License-Identifier: BSD-3-Clause
#include "optim/parameter_lists.hpp"

#include <ATen/ATen.h>

namespace voxcycle {

at::Tensor in_memory_order(at::Tensor const& dense) {
  return dense.as_strided({dense.numel()}, {1});
}

at::Tensor gradient_of(at::Tensor const& parameter) {
  auto const& gradient = parameter.grad();
  return gradient.strides() == parameter.strides() ? gradient
                                                   : at::empty_like(parameter).copy_(gradient);
}

ActiveLists active_lists(ParameterGroup const& group) {
  ActiveLists active;
  for (std::size_t k = 0; k < group.parameters.size(); ++k) {
    auto const& parameter = group.parameters[k];
    if (!parameter.grad().defined()) continue;
    active.parameters.push_back(in_memory_order(parameter));
    active.gradients.push_back(in_memory_order(gradient_of(parameter)));
    active.places.push_back(k);
  }
  return active;
}

}  // namespace voxcycle
