// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/optim/optimizer.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <map>

#include "optim/optimizers.hpp"

namespace voxcycle {
namespace {

struct Kind {
  std::unique_ptr<Optimizer> (*make)(OptimizerOptions const&, std::vector<ParameterGroup>);
  int state_copies;  ///< see optimizer_state_copies
};

/// One line an optimiser.
std::map<std::string, Kind> const kOptimizers{
    {"adam", {make_adam, 2}},
    {"muon", {make_muon, 1}},  // of matrices; Adam's part is small
    {"sgd", {make_sgd, 1}},
};

Kind const& find_kind(std::string const& name) {
  auto const found = kOptimizers.find(name);
  VOXCYCLE_REQUIRE(found != kOptimizers.end(), "optimiser '" << name
                                                             << "' is unknown. Choose one of "
                                                             << join(optimizer_names()) << '.');
  return found->second;
}

}  // namespace

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (auto const& entry : kOptimizers) names.push_back(entry.first);
  return names;
}

std::unique_ptr<Optimizer> make_optimizer(OptimizerOptions const& options,
                                          std::vector<ParameterGroup> groups) {
  return find_kind(options.name).make(options, std::move(groups));
}

int optimizer_state_copies(std::string const& name) {
  return find_kind(name).state_copies;
}

}  // namespace voxcycle
