// SPDX-License-Identifier: BSD-3-Clause
#include "train/stepper.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/train/parameter_groups.hpp"
#include "voxcycle/train/sample_objective.hpp"

#include <algorithm>

#include "train/first_order_stepper.hpp"
#include "train/lbfgs_stepper.hpp"

namespace voxcycle {

std::vector<std::string> stepper_names() {
  auto names = optimizer_names();
  names.emplace_back(kLbfgs);
  std::sort(names.begin(), names.end());
  return names;
}

void require_stepper_name(std::string const& name) {
  auto const names = stepper_names();
  VOXCYCLE_REQUIRE(std::find(names.begin(), names.end(), name) != names.end(),
                   "optimiser '" << name << "' is unknown. Choose one of " << join(names) << '.');
}

void require_stepper(TrainOptions const& options, Stage const& stage, Mixture const& samples) {
  require_stepper_name(stage.plan.optimizer);
  if (stage.plan.optimizer == kLbfgs) {
    SamplePlan::of(options.lbfgs, stage.plan, samples.samples());
  } else {
    make_optimizer(optimizer_options(options, stage), {});
  }
}

std::unique_ptr<Stepper> make_stepper(StageSetup const& setup) {
  return setup.stage.plan.optimizer == kLbfgs ? make_lbfgs_stepper(setup)
                                              : make_first_order_stepper(setup);
}

std::vector<ParameterGroup> parameter_groups(Network const& network, Stage const& stage) {
  std::vector<ParameterGroup> groups;
  for (auto const& level : trained_levels(network, stage.plan.grid)) {
    groups.push_back({level.parameters, level.names, level_rate_factor(stage, level.level)});
  }
  return groups;
}

OptimizerOptions optimizer_options(TrainOptions const& options, Stage const& stage) {
  OptimizerOptions chosen = options.optimizer;
  chosen.name = stage.plan.optimizer;
  return chosen;
}

}  // namespace voxcycle
