// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/stage_budget.hpp"

#include "voxcycle/core/text.hpp"
#include "voxcycle/train/sample_objective.hpp"

#include <algorithm>

namespace voxcycle {

std::int64_t samples_a_step(TrainOptions const& options, LevelPlan const& plan,
                            std::int64_t available) {
  return plan.optimizer == kLbfgs ? SamplePlan::of(options.lbfgs, plan, available).samples
                                  : plan.batch;
}

Budget stage_budget(TrainOptions const& options, LevelPlan const& plan, std::int64_t available) {
  if (plan.optimizer != kLbfgs) return resolve_epochs(plan.budget, available, plan.batch);
  auto const set = SamplePlan::of(options.lbfgs, plan, available);
  return resolve_epochs(plan.budget, set.iterates_batches() ? available : set.samples,
                        set.samples - set.overlap);
}

std::string budget_text(LevelPlan const& plan, Budget const& budget) {
  std::string text;
  if (plan.budget.epochs > 0) text = format("%g epochs, ", plan.budget.epochs);
  if (budget.steps > 0) text += format("%ld steps, ", static_cast<long>(budget.steps));
  if (budget.seconds > 0) text += format_seconds(budget.seconds) + ", ";
  if (plan.stall.patience > 0) text += format("patience %d, ", plan.stall.patience);
  text.resize(text.size() - 2);
  return text;
}

double expected_steps(Budget const& budget, double step_seconds) {
  auto const steps = static_cast<double>(budget.steps);
  if (budget.seconds == 0.0) return steps;
  double const in_time = budget.seconds / step_seconds;
  return budget.steps > 0 ? std::min(steps, std::max(1.0, in_time)) : in_time;
}

}  // namespace voxcycle
