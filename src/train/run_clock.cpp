// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/run_clock.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace voxcycle {
namespace {

constexpr double kNewestWeight = 0.1;

/// 0 for what is not known: a run without evaluations yet is told by its steps.
double or_zero(double seconds) {
  return std::isnan(seconds) ? 0.0 : seconds;
}

}  // namespace

/// The first of a size is often slow: memory is fetched. So the mean is plain until it is recent.
void SizedTimes::add(std::int64_t size, double seconds) {
  Mean& mean = means_[size];
  mean.count += 1.0;
  mean.seconds += std::max(kNewestWeight, 1.0 / mean.count) * (seconds - mean.seconds);
}

double SizedTimes::expected(std::int64_t size) const {
  if (means_.empty()) return std::numeric_limits<double>::quiet_NaN();
  auto const scaled = [&](auto const& known, double power) {
    double const ratio = static_cast<double>(size) / static_cast<double>(known->first);
    return known->second.seconds * std::pow(ratio, power);
  };
  auto above = means_.lower_bound(size);
  if (means_.size() == 1) return scaled(means_.begin(), 1.0);
  if (above == means_.end()) above = std::prev(above);
  if (above->first == size) return above->second.seconds;
  if (above == means_.begin()) above = std::next(above);
  auto const below = std::prev(above);
  double const sizes = static_cast<double>(above->first) / static_cast<double>(below->first);
  double const growth = std::log(above->second.seconds / below->second.seconds) / std::log(sizes);
  return scaled(above, std::clamp(growth, 0.0, 1.0));  // coarse grids wait for more than voxels
}

void RunClock::add_step(std::size_t stage, double seconds) {
  auto const& planned = stages_[stage];
  steps_.add(size_of(planned), seconds);
  if (planned.step_seconds == 0.0) return;
  told_ += planned.step_seconds;
  taken_ += seconds;
}

/// What was told before training is scaled by what it was off by since: a machine that is shared
/// may have been busier, or less so, when it was timed.
double RunClock::step_seconds(Stage const& planned) const {
  bool const is_told = planned.step_seconds > 0.0 && !steps_.knows(size_of(planned));
  if (!is_told) return or_zero(steps_.expected(size_of(planned)));
  return planned.step_seconds * (told_ > 0.0 ? taken_ / told_ : 1.0);
}

double RunClock::left(std::size_t stage, std::int64_t step, double stage_seconds) const {
  double sum = 0.0;
  for (std::size_t k = stage; k < stages_.size(); ++k) {
    auto const& planned = stages_[k];
    bool const is_here = k == stage;
    std::int64_t const done = is_here ? step : 0;
    double const spent = is_here ? stage_seconds : 0.0;
    double const steps = seconds_left(planned.budget, done, spent, step_seconds(planned));
    if (std::isinf(steps)) return std::numeric_limits<double>::quiet_NaN();
    double const progress =
        is_here ? progress_of(planned.budget, step, stage_seconds) : -1.0 / planned.evaluations;
    double const evaluations =
        std::ceil((1.0 - progress) * static_cast<double>(planned.evaluations) - 1e-9);
    sum += steps +
           evaluations * static_cast<double>(planned.held_out) *
               or_zero(evaluations_.expected(planned.voxels)) +
           or_zero(checkpoints_.expected(1));
  }
  return sum;
}

}  // namespace voxcycle
