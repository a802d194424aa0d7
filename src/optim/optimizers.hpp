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

}  // namespace voxcycle
