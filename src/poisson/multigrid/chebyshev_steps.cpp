// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/chebyshev_steps.hpp"

#include <algorithm>
#include <cmath>

namespace voxcycle {

ChebyshevSteps chebyshev_steps(int count, Interval const& interval) {
  double const centre = (interval.top + interval.bottom) / 2.0;
  double const radius = (interval.top - interval.bottom) / 2.0;
  double const ratio = centre / radius;
  ChebyshevSteps steps;
  double rho = 1.0 / ratio;
  for (int i = 0; i < count; ++i) {
    if (i == 0) {
      steps.push_back({0.0, 1.0 / centre});
      continue;
    }
    double const next = 1.0 / (2.0 * ratio - rho);
    steps.push_back({next * rho, 2.0 * next / radius});
    rho = next;
  }
  return steps;
}

ChebyshevSteps smoothing_steps(int count) {
  double const bottom = 2.0 / std::pow(std::max(count, 1), 1.5);
  return chebyshev_steps(count, {std::clamp(bottom, 0.04, 0.25), 1.0});
}

}  // namespace voxcycle
