// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/cycle/budget.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace voxcycle {

Budget resolve_epochs(Budget const& budget, std::int64_t samples, std::int64_t batch) {
  Budget resolved = budget;
  resolved.epochs = 0.0;
  if (budget.epochs <= 0.0) return resolved;
  double const exact = budget.epochs * static_cast<double>(samples) / static_cast<double>(batch);
  auto const steps = static_cast<std::int64_t>(std::ceil(exact * (1.0 - 1e-12)));
  resolved.steps = budget.steps == 0 ? steps : std::min(budget.steps, steps);
  return resolved;
}

double progress_of(Budget const& budget, std::int64_t steps, double seconds) {
  double progress = 0.0;
  if (budget.steps > 0) {
    progress = static_cast<double>(steps) / static_cast<double>(budget.steps);
  }
  if (budget.seconds > 0.0) progress = std::max(progress, seconds / budget.seconds);
  return std::min(1.0, progress);
}

double seconds_left(Budget const& budget, std::int64_t steps, double seconds, double step_seconds) {
  double left = std::numeric_limits<double>::infinity();
  if (budget.steps > 0 && step_seconds > 0.0) {
    left = static_cast<double>(budget.steps - steps) * step_seconds;
  }
  if (budget.seconds > 0.0) left = std::min(left, budget.seconds - seconds);
  return std::max(0.0, left);
}

bool has_stalled(std::vector<double> const& gaps, StallRule const& rule) {
  if (rule.patience == 0) return false;
  double best = std::numeric_limits<double>::infinity();
  int without = 0;
  for (double const gap : gaps) {
    bool const improved = gap < best * (1.0 - rule.improvement) || std::isinf(best);
    without = improved ? 0 : without + 1;
    best = improved ? gap : best;
  }
  return without >= rule.patience;
}

}  // namespace voxcycle
