// SPDX-License-Identifier: BSD-3-Clause
// Parameters and gradients as lists of values, for kernels that go through memory.
#pragma once

#include "voxcycle/optim/optimizer.hpp"

#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// All values of a dense tensor in memory order, [n]. torch's fused kernels go through memory
/// without a look at strides.
at::Tensor in_memory_order(at::Tensor const& dense);
/// The gradient of `parameter` in its layout.
at::Tensor gradient_of(at::Tensor const& parameter);

/// Tensor lists of one group for torch's multi-tensor kernels: only parameters with a gradient, in
/// memory order.
struct ActiveLists {
  std::vector<at::Tensor> parameters;
  std::vector<at::Tensor> gradients;
  std::vector<std::size_t> places;  ///< of each in the group
};
ActiveLists active_lists(ParameterGroup const& group);

}  // namespace voxcycle
