// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/optim/optimizer.hpp"

#include "voxcycle/core/registry.hpp"

#include "optim/optimizers.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

using Make = std::unique_ptr<Optimizer> (*)(OptimizerOptions const&, std::vector<ParameterGroup>);

/// One line an optimiser.
Registry<Make> const kOptimizers{"optimiser",
                                 {
                                     {"adam", make_adam},
                                     {"muon", make_muon},
                                     {"sgd", make_sgd},
                                 }};

}  // namespace

void Optimizer::step(double rate) {
  step(at::scalar_tensor(rate, at::kFloat));
}

std::vector<std::string> optimizer_names() {
  return kOptimizers.names();
}

std::unique_ptr<Optimizer> make_optimizer(OptimizerOptions const& options,
                                          std::vector<ParameterGroup> groups) {
  return kOptimizers.at(options.name)(options, std::move(groups));
}

}  // namespace voxcycle
