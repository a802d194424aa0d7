// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/cycle/stage.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <cmath>

namespace voxcycle {
namespace {

void require_valid(Stage const& stage) {
  auto const& plan = stage.plan;
  auto const name = "stage " + std::to_string(stage.number + 1) + " (" + plan.grid.label() + ")";
  auto const& budget = plan.budget;
  VOXCYCLE_REQUIRE(!budget.empty(), name << " has no budget. Give it steps, epochs or seconds "
                                            "(cycle.steps, cycle.epochs, cycle.seconds).");
  VOXCYCLE_REQUIRE(budget.steps >= 0 && budget.epochs >= 0 && budget.seconds >= 0,
                   name << " has a negative budget. Give numbers above zero, or 0 for no limit.");
  VOXCYCLE_REQUIRE(
      plan.stall.patience >= 0 && plan.stall.improvement >= 0 && plan.stall.improvement < 1,
      name << " has a stop rule that means nothing (patience " << plan.stall.patience
           << ", improvement " << plan.stall.improvement
           << "). Choose a patience >= 0 and an improvement in [0, 1).");
  VOXCYCLE_REQUIRE(plan.batch >= 1, name << " has a batch of " << plan.batch
                                         << ". Batches need at least one sample.");
  VOXCYCLE_REQUIRE(plan.rate > 0, name << " has the rate " << plan.rate << ". Rates are positive.");
  VOXCYCLE_REQUIRE(plan.warm_up >= 0 && plan.warm_up < 1,
                   name << " has a warm-up share of " << plan.warm_up << ". Choose it in [0, 1).");
  VOXCYCLE_REQUIRE(
      plan.old_level_factor >= 0 && plan.old_level_factor <= 1,
      name << " has an old-level factor of " << plan.old_level_factor << ". Choose it in [0, 1].");
  VOXCYCLE_REQUIRE(plan.evaluations >= 1, name << " has no evaluation. One is the least.");
  VOXCYCLE_REQUIRE(plan.stall.patience == 0 || plan.stall.patience < plan.evaluations,
                   name << " has a patience of " << plan.stall.patience << " and "
                        << plan.evaluations << " evaluations, the last at its end, so that it "
                        << "would never end early. Lower cycle.patience or raise "
                           "cycle.evaluations.");
}

}  // namespace

std::vector<Stage> plan_stages(LevelPath const& path, std::vector<LevelPlan> const& levels) {
  std::vector<Stage> stages;
  std::int64_t trained = 0;
  std::int64_t risen = 0;  // finest level that a stage entered from a coarser one
  for (int level : path) {
    Stage stage;
    stage.number = static_cast<int>(stages.size());
    stage.plan = levels.at(static_cast<std::size_t>(level));
    voxcycle::require_valid(stage.plan.grid);
    stage.level = stage.plan.grid.level();
    stage.trained_level = trained;
    require_valid(stage);
    trained = std::max(trained, stage.level);
    if (!stages.empty() && stage.level > stages.back().level) {
      stage.begin_above = std::max(risen, stages.back().level);
      risen = std::max(risen, stage.level);
    }
    stages.push_back(stage);
  }
  return stages;
}

double level_rate_factor(Stage const& stage, std::int64_t level) {
  bool const is_old =
      level != stage.level && level <= std::min(stage.trained_level, stage.begin_above);
  return is_old ? stage.plan.old_level_factor : 1.0;
}

bool evaluation_due(Stage const& stage, double before, double after) {
  auto const passed = [count = static_cast<double>(stage.plan.evaluations)](double progress) {
    return std::floor(progress * count + 1e-9);  // 29 of 100 steps are 0.29 - 3e-17
  };
  return passed(after) > passed(before);
}

}  // namespace voxcycle
