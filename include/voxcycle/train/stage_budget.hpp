// SPDX-License-Identifier: BSD-3-Clause
// How much training a stage is.
#pragma once

#include "voxcycle/train/trainer.hpp"

#include <cstdint>
#include <string>

namespace voxcycle {

/// Samples that a step of a stage goes through; those of L-BFGS once per evaluation.
/// @param available  training samples of the grid
std::int64_t samples_a_step(TrainOptions const& options, LevelPlan const& plan,
                            std::int64_t available);
/// The budget of a stage in steps and seconds. An epoch of L-BFGS on its fixed set is one
/// iteration.
Budget stage_budget(TrainOptions const& options, LevelPlan const& plan, std::int64_t available);
/// A resolved budget for people, e.g. "1.5 epochs, 19 steps, 500 ms".
std::string budget_text(LevelPlan const& plan, Budget const& budget);
/// Steps within a resolved budget. @param step_seconds  of a step, > 0
double expected_steps(Budget const& budget, double step_seconds);

}  // namespace voxcycle
