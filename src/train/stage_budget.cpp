// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/stage_budget.hpp"

#include "voxcycle/train/sample_objective.hpp"

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

}  // namespace voxcycle
