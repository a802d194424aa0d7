// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/cycle/budget.hpp"
#include "voxcycle/cycle/cycle.hpp"
#include "voxcycle/grid/grid3.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace voxcycle {

/// How each stage of one level trains.
struct LevelPlan {
  Grid3 grid;
  Budget budget = {};              ///< of a stage
  StallRule stall = {};            ///< ends a stage early
  std::int64_t batch = 8;          ///< global batch size, >= 1
  std::string optimizer = "muon";  ///< one of optimizer_names(), or "lbfgs"
  double rate = 0.01;              ///< peak rate, > 0
  double warm_up = 0.1;            ///< share of the budget with a rising rate, [0, 1)
  double old_level_factor = 0.3;   ///< rate of coarser, already trained levels relative to this one
  bool recompute = false;          ///< activation checkpointing
  int evaluations = 4;             ///< held-out evaluations per stage, >= 1 (the last at its end)

  bool operator==(LevelPlan const&) const = default;
};

/// A turn of one level on the path of a cycle.
struct Stage {
  int number = 0;  ///< on the path, from 0
  LevelPlan plan;
  std::int64_t level = 0;          ///< largest voxel count of plan.grid along an axis
  std::int64_t trained_level = 0;  ///< finest level that earlier stages trained; 0: none
  /// Levels above it begin as the next coarser one (Network::begin_level): those that training
  /// enters from a coarser grid for the first time. Few steps on the way down, as V, W and F have
  /// them, teach them less than the coarser level has learned since.
  std::int64_t begin_above = std::numeric_limits<std::int64_t>::max();
};

/// The stages of `path` over `levels` (coarsest first).
/// @throws Error naming the stage for a plan that is out of range.
std::vector<Stage> plan_stages(LevelPath const& path, std::vector<LevelPlan> const& levels);

/// Rate of `level` relative to the stage's: 1 for the stage's own level and levels that no stage
/// has trained yet or that begin anew with this one, plan.old_level_factor for the others. What a
/// factor does on entering a level, and that low rates with a warm-up do more, is measured in
/// configs/README.md.
double level_rate_factor(Stage const& stage, std::int64_t level);

/// Whether a held-out evaluation follows a step that took the stage's progress (see progress_of)
/// from `before` to `after`.
bool evaluation_due(Stage const& stage, double before, double after);

}  // namespace voxcycle
