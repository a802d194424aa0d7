// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/chebyshev_steps.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

namespace voxcycle {
namespace chebyshev_steps_test {

// Some hundred operations in float64.
constexpr double rounding = 1e-12;
constexpr int points = 2000;

/// q(t): what the steps on t x = 0 make of x = 1.
double value(ChebyshevSteps const& steps, double t) {
  double x = 1.0, d = 0.0;
  for (auto const& step : steps) {
    d = step.keep * d - step.take * t * x;
    x += d;
  }
  return x;
}

double maximum(ChebyshevSteps const& steps, Interval const& on) {
  double largest = 0.0;
  for (int k = 0; k <= points; ++k) {
    double const t = on.bottom + (on.top - on.bottom) * k / points;
    largest = std::max(largest, std::abs(value(steps, t)));
  }
  return largest;
}

/// What no polynomial of the degree with q(0) = 1 can be below everywhere on the interval.
double minimum(int count, Interval const& on) {
  double const ratio = (on.top + on.bottom) / (on.top - on.bottom);
  return 1.0 / std::cosh(count * std::acosh(ratio));
}

TEST(ChebyshevSteps, AreLeastOnTheirInterval) {
  for (int count : {1, 2, 5, 16}) {
    for (Interval const on : {Interval{0.25, 1.0}, Interval{0.01, 1.0}, Interval{0.5, 2.0}}) {
      EXPECT_NEAR(maximum(chebyshev_steps(count, on), on), minimum(count, on), rounding) << count;
    }
  }
}

TEST(ChebyshevSteps, OfNetworksReachFurtherDownTheMoreThereAre) {
  std::map<int, double> const bottoms{
      {1, 0.25}, {4, 0.25}, {5, 2 / std::pow(5, 1.5)}, {8, 1 / std::sqrt(128)}, {16, 0.04}};
  for (auto const& [count, bottom] : bottoms) {
    auto const steps = smoothing_steps(count);
    ASSERT_EQ(steps.size(), static_cast<std::size_t>(count));
    EXPECT_NEAR(maximum(steps, {bottom, 1.0}), minimum(count, {bottom, 1.0}), rounding) << count;
  }
}

TEST(ChebyshevSteps, OfNetworksLetNoErrorGrowWhereTheSpectrumEndsALittleLater) {
  for (int count = 1; count <= 16; ++count) {
    EXPECT_LE(maximum(smoothing_steps(count), {0.0, 1.04}), 1.0 + rounding) << count;
  }
}

TEST(ChebyshevSteps, NoneChangeNothing) {
  EXPECT_TRUE(smoothing_steps(0).empty());
}

}  // namespace chebyshev_steps_test
}  // namespace voxcycle
