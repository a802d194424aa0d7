// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/optim/optimizer.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <map>

#include "optim/optimizers.hpp"

namespace voxcycle {
namespace {

using Maker = std::unique_ptr<Optimizer> (*)(OptimizerOptions const&, std::vector<ParameterGroup>);

/// One line an optimiser.
std::map<std::string, Maker> const kOptimizers{
    {"adam", make_adam},
    {"muon", make_muon},
    {"sgd", make_sgd},
};

}  // namespace

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (auto const& entry : kOptimizers) names.push_back(entry.first);
  return names;
}

std::unique_ptr<Optimizer> make_optimizer(OptimizerOptions const& options,
                                          std::vector<ParameterGroup> groups) {
  auto const found = kOptimizers.find(options.name);
  VOXCYCLE_REQUIRE(found != kOptimizers.end(), "optimiser '" << options.name
                                                             << "' is unknown. Choose one of "
                                                             << join(optimizer_names()) << '.');
  return found->second(options, std::move(groups));
}

}  // namespace voxcycle
