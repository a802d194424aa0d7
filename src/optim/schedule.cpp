// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/optim/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace voxcycle {
namespace {

/// Of the peak rate, at the end of an exponential decay.
constexpr double kLastRate = 0.01;

double decayed(Decay decay, double progress) {
  switch (decay) {
    case Decay::cosine:
      return 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
    case Decay::exponential:
      return std::pow(kLastRate, progress);
    case Decay::linear:
      return 1.0 - progress;
    case Decay::none:
      break;
  }
  return 1.0;
}

}  // namespace

double rate_scale(RateScaling scaling, int workers) {
  switch (scaling) {
    case RateScaling::sqrt:
      return std::sqrt(static_cast<double>(workers));
    case RateScaling::linear:
      return static_cast<double>(workers);
    case RateScaling::none:
      break;
  }
  return 1.0;
}

double scheduled_rate(Decay decay, double progress, double step_share, double warm_up) {
  double const warmed =
      warm_up < step_share ? 1.0 : std::min(1.0, (progress + step_share) / warm_up);
  return warmed * decayed(decay, progress);
}

}  // namespace voxcycle
