// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/optim/optimizer.hpp"

#include "voxcycle/core/registry.hpp"

#include "optim/optimizers.hpp"

namespace voxcycle {
namespace {

struct Kind {
  std::unique_ptr<Optimizer> (*make)(OptimizerOptions const&, std::vector<ParameterGroup>);
  int state_copies;  ///< see optimizer_state_copies
};

/// One line an optimiser.
Registry<Kind> const kOptimizers{"optimiser",
                                 {
                                     {"adam", {make_adam, 2}},
                                     {"muon", {make_muon, 1}},  // of matrices; Adam's part is small
                                     {"sgd", {make_sgd, 1}},
                                 }};

}  // namespace

std::vector<std::string> optimizer_names() {
  return kOptimizers.names();
}

std::unique_ptr<Optimizer> make_optimizer(OptimizerOptions const& options,
                                          std::vector<ParameterGroup> groups) {
  return kOptimizers.at(options.name).make(options, std::move(groups));
}

int optimizer_state_copies(std::string const& name) {
  return kOptimizers.at(name).state_copies;
}

}  // namespace voxcycle
