// SPDX-License-Identifier: BSD-3-Clause
// Makers of the optimisers; each lives in a file of its own.
#pragma once

#include "voxcycle/optim/optimizer.hpp"

namespace voxcycle {

/// Adam (Kingma and Ba 2015), torch's fused kernel.
std::unique_ptr<Optimizer> make_adam(OptimizerOptions const& options,
                                     std::vector<ParameterGroup> groups);
/// Gradient descent with heavy-ball momentum, torch's fused kernel.
std::unique_ptr<Optimizer> make_sgd(OptimizerOptions const& options,
                                    std::vector<ParameterGroup> groups);

/// Momentum orthogonalised a weight at a time (Jordan et al. 2024) on weights that map many
/// channels to many, Adam on the rest.
std::unique_ptr<Optimizer> make_muon(OptimizerOptions const& options,
                                     std::vector<ParameterGroup> groups);

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
