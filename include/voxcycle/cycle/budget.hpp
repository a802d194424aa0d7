// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

namespace voxcycle {

/// When a stage ends: at the first limit reached. 0 stands for no such limit.
struct Budget {
  std::int64_t steps = 0;
  double epochs = 0.0;   ///< passes over the training samples
  double seconds = 0.0;  ///< training time, evaluations not counted; not reproducible bit by bit

  bool empty() const { return steps == 0 && epochs == 0.0 && seconds == 0.0; }

  bool operator==(Budget const&) const = default;
};

/// The budget with epochs turned into steps. Example: 1.5 epochs of 100 samples in batches of 8 are
/// 19 steps. @param samples, batch >= 1
Budget resolve_epochs(Budget const& budget, std::int64_t samples, std::int64_t batch);

/// Share of a resolved budget that is used up, in [0, 1]; 1: the stage is over.
/// @param steps    steps done
/// @param seconds  training time spent
double progress_of(Budget const& budget, std::int64_t steps, double seconds);

/// Seconds until a resolved budget is used up, by its nearest limit; infinity where that cannot be
/// told yet.
/// @param step_seconds  of a step; 0: unknown
double seconds_left(Budget const& budget, std::int64_t steps, double seconds, double step_seconds);

/// Ends a stage whose held-out energy gap no longer falls.
struct StallRule {
  int patience = 0;           ///< evaluations without enough improvement that end it; 0: never
  double improvement = 0.01;  ///< relative fall of the best gap that counts, [0, 1)

  bool operator==(StallRule const&) const = default;
};

/// @param gaps  held-out energy gaps of the stage, the one on entry first
bool has_stalled(std::vector<double> const& gaps, StallRule const& rule);

}  // namespace voxcycle
