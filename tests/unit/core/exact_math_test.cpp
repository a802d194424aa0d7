// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/exact_math.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace voxcycle {
namespace exact_math_test {

/// |value - exact| in units of the last place of a double. `exact` is from the C library's 80-bit
/// functions, which have 11 bits to spare.
double ulps(double value, long double exact) {
  double const rounded = std::abs(static_cast<double>(exact));
  double const ulp = std::nextafter(rounded, std::numeric_limits<double>::infinity()) - rounded;
  return static_cast<double>(std::abs(static_cast<long double>(value) - exact)) / ulp;
}

// Of exp one rounding of the sum 1 + (...), half an ulp, and less than half of the terms within.
constexpr double kMaxUlps = 1.0;
// The argument's reduction to 3e-17 and two roundings at values up to 1.
constexpr double kMaxAbsolute = 2.3e-16;

TEST(ExactMath, ExpIsWithinAnUlp) {
  double worst = 0.0;
  for (double x = -700.0; x <= 700.0; x += 0.00137) {
    worst = std::max(worst, ulps(exact_exp(x), std::exp(static_cast<long double>(x))));
  }
  for (double x = -1.0; x <= 1.0; x += 3.3e-6) {
    worst = std::max(worst, ulps(exact_exp(x), std::exp(static_cast<long double>(x))));
  }
  EXPECT_LE(worst, kMaxUlps);
  EXPECT_EQ(exact_exp(0.0), 1.0);
}

TEST(ExactMath, ExpGoesOnToZeroAndInfinity) {
  double const infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(exact_exp(710.0), infinity);
  EXPECT_EQ(exact_exp(1e300), infinity);
  EXPECT_EQ(exact_exp(infinity), infinity);
  EXPECT_EQ(exact_exp(-746.0), 0.0);
  EXPECT_EQ(exact_exp(-infinity), 0.0);
  EXPECT_TRUE(std::isnan(exact_exp(std::nan(""))));
  // Subnormal results: two roundings, each of half the smallest number.
  for (double x = -745.0; x < -700.0; x += 0.01) {
    EXPECT_NEAR(exact_exp(x), std::exp(x),
                1.5 * std::numeric_limits<double>::denorm_min() +
                    1.5 * std::numeric_limits<double>::epsilon() * std::exp(x));
  }
}

TEST(ExactMath, LogIsWithinTwoUlps) {
  // Near 1 three roundings of f = (m - 1) / (m + 1) and of its sum; elsewhere less.
  constexpr double kMaxUlpsOfLog = 2.0;
  double worst = 0.0;
  for (double x = 0.5; x <= 2.0; x += 1.7e-6) {
    worst = std::max(worst, ulps(exact_log(x), std::log(static_cast<long double>(x))));
  }
  for (double x = 2.3e-308; x < 1e308; x *= 1.0137) {
    worst = std::max(worst, ulps(exact_log(x), std::log(static_cast<long double>(x))));
  }
  EXPECT_LE(worst, kMaxUlpsOfLog);
  EXPECT_EQ(exact_log(1.0), 0.0);
}

TEST(ExactMath, SinAndCosAreWithinTheirTolerance) {
  double worst = 0.0;
  for (double x = -1000.0; x <= 1000.0; x += 0.00171) {
    auto const exact = static_cast<long double>(x);
    worst = std::max(worst, static_cast<double>(std::abs(exact_sin(x) - std::sin(exact))));
    worst = std::max(worst, static_cast<double>(std::abs(exact_cos(x) - std::cos(exact))));
  }
  EXPECT_LE(worst, kMaxAbsolute);
  EXPECT_EQ(exact_sin(0.0), 0.0);
  EXPECT_EQ(exact_cos(0.0), 1.0);
  for (double x = 0.001; x < 30; x += 0.0713) {
    EXPECT_EQ(exact_sin(-x), -exact_sin(x)) << x;
    EXPECT_EQ(exact_cos(-x), exact_cos(x)) << x;
  }
}

TEST(ExactMath, AnArrayHasTheBitsOfSingleValues) {
  for (std::size_t count : {0U, 1U, 3U, 8U, 1001U}) {
    for (double first : {-40.0, 700.0, -1e300}) {  // within the range of exp, partly beyond, far
      std::vector<double> values;
      for (std::size_t k = 0; k < count; ++k) {
        values.push_back(first + 0.0799 * static_cast<double>(k));
      }
      std::vector<double> const arguments = values;
      exact_exp(values);
      for (std::size_t k = 0; k < count; ++k) EXPECT_EQ(values[k], exact_exp(arguments[k]));
    }
  }
}

TEST(ExactMath, BitsAreThoseOfEveryMachine) {
  // Not a check of accuracy: these bits must never change, or data sets would.
  EXPECT_EQ(exact_exp(1.0), 0x1.5bf0a8b14576ap+1);
  EXPECT_EQ(exact_exp(-2.345), 0x1.88971369047a5p-4);
  EXPECT_EQ(exact_log(0.3), -0x1.34378fcbda721p+0);
  EXPECT_EQ(exact_sin(15.957331424826481), -0x1.f96dee81934a7p-3);
  EXPECT_EQ(exact_cos(6.851236918963457), 0x1.af973eef8784ep-1);
}

}  // namespace exact_math_test
}  // namespace voxcycle
