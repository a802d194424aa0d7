// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/field/family.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace kl_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

FamilyOptions options_of(int modes, double range = 3.0) {
  FamilyOptions options;
  options.modes = modes;
  options.omega_range = range;
  return options;
}

std::vector<float> values_of(CoefficientFamily const& family, std::vector<double> const& omega,
                             Grid3 const& grid) {
  std::vector<float> nu(static_cast<std::size_t>(grid.voxel_count()));
  family.evaluate(omega, grid, {}, nu);
  return nu;
}

/// The k-th positive root of tan a = 4 a / (a^2 - 4), written without poles and bisected: the
/// constants of the family must be these.
double root(int k) {
  auto const f = [](double a) { return (a * a - 4) * std::sin(a) - 4 * a * std::cos(a); };
  int found = 0;
  for (double left = 1e-3;; left += 1e-2) {
    if (f(left) * f(left + 1e-2) > 0) continue;
    if (found++ < k) continue;
    double right = left + 1e-2;
    for (int step = 0; step < 60; ++step) {
      double const middle = 0.5 * (left + right);
      (f(left) * f(middle) <= 0 ? right : left) = middle;
    }
    return left;
  }
}

double expected_nu(std::vector<double> const& omega, double x, double y, double z) {
  double log_nu = 0.0;
  for (std::size_t i = 0; i < omega.size(); ++i) {
    double const a = root(static_cast<int>(i));
    double const lambda = 1 / (1 + 0.25 * a * a);
    auto const eta = [a](double s) { return a / 2 * std::cos(a * s) + std::sin(a * s); };
    log_nu += omega[i] * std::pow(lambda, 1.5) * eta(x) * eta(y) * eta(z);
  }
  return std::exp(log_nu);
}

// nu is rounded to float once; a double evaluated in another order is within 1e-13 of it.
constexpr double kRelative = 0.5001 * std::numeric_limits<float>::epsilon();

TEST(Kl, AgreesWithTheFormulaByTheStandardLibrary) {
  for (int modes : {1, 4, 6}) {
    auto const family = make_family(options_of(modes));
    Grid3 const grid{{5, 8, 3}, {1.0, 2.0, 0.5}};  // lengths do not matter: axes run over [0, 1]
    std::vector<double> const omega = family->omega(7, 12);
    std::vector<float> const nu = values_of(*family, omega, grid);
    std::size_t place = 0;
    for (int x = 0; x < 5; ++x) {
      for (int y = 0; y < 8; ++y) {
        for (int z = 0; z < 3; ++z, ++place) {
          double const expected = expected_nu(omega, (x + 0.5) / 5, (y + 0.5) / 8, (z + 0.5) / 3);
          EXPECT_NEAR(nu[place], expected, kRelative * expected) << x << ' ' << y << ' ' << z;
        }
      }
    }
  }
}

TEST(Kl, HasTheMeanOfThePublishedSample) {
  // 2 J(1 - x) is the mean of nu; its values on two grids were worked out by another program, from
  // omega in float32 and the rest in double. Rounding nu to float moves the mean by 4e-10.
  constexpr double kWithin = 1e-9;
  auto const family = make_family(options_of(4));
  for (auto const& [n, mean] : {std::pair(32, 1.7496922732), std::pair(64, 1.7489095172)}) {
    std::vector<float> const nu =
        values_of(*family, {0.3105F, 1.5386F, 0.0932F, -1.2442F}, Grid3::cube(n));
    double const sum = std::accumulate(nu.begin(), nu.end(), 0.0);
    EXPECT_NEAR(sum / static_cast<double>(nu.size()), mean, kWithin) << n;
  }
}

TEST(Kl, ParametersFillTheirRangeEvenly) {
  auto const family = make_family(options_of(6, 2.0));
  EXPECT_EQ(family->parameter_count(), 6);
  std::vector<double> mean(6, 0.0);
  double lowest = 0;
  double highest = 0;
  for (int index = 0; index < 256; ++index) {
    std::vector<double> const omega = family->omega(3, index);
    ASSERT_EQ(omega.size(), 6U);
    for (std::size_t axis = 0; axis < 6; ++axis) mean[axis] += omega[axis] / 256;
    lowest = std::min(lowest, *std::min_element(omega.begin(), omega.end()));
    highest = std::max(highest, *std::max_element(omega.begin(), omega.end()));
  }
  EXPECT_GE(lowest, -2.0);
  EXPECT_LT(highest, 2.0);
  // One point in each of 256 intervals of 4/256: each mean is off by half an interval at most.
  for (double value : mean) EXPECT_LE(std::abs(value), 2.0 / 256);
  EXPECT_LT(lowest, -2.0 + 4.0 / 256);
  EXPECT_GT(highest, 2.0 - 4.0 / 256);
}

TEST(Kl, ASampleAloneHasTheBytesOfTheSameSampleAmongOthers) {
  auto const family = make_family(options_of(4));
  Grid3 const grid = Grid3::cube(8);
  std::vector<std::vector<float>> all;
  for (int index = 0; index < 20; ++index) {
    all.push_back(values_of(*family, family->omega(1, index), grid));
  }
  for (int index : {13, 0, 19}) {
    auto const alone = make_family(options_of(4));
    EXPECT_EQ(values_of(*alone, alone->omega(1, index), grid),
              all[static_cast<std::size_t>(index)]);
  }
  EXPECT_NE(values_of(*family, family->omega(2, 13), grid), all[13]) << "the seed must matter";
}

TEST(Kl, ExtremeParametersStayInTheRangeOfFloat) {
  auto const family = make_family(options_of(4, 20.0));
  for (double sign : {-1.0, 1.0}) {
    for (float value : values_of(*family, std::vector<double>(4, sign * 20.0), Grid3::cube(16))) {
      EXPECT_TRUE(std::isnormal(value) && value > 0) << value;
    }
  }
}

TEST(Kl, RefusesWhatItCannotDo) {
  EXPECT_THAT([] { make_family(options_of(7)); }, ThrowsMessage<Error>(HasSubstr("Use 1 to 6")));
  EXPECT_THAT([] { make_family(options_of(0)); }, ThrowsMessage<Error>(HasSubstr("Use 1 to 6")));
  EXPECT_THAT([] { make_family(options_of(4, 21.0)); }, ThrowsMessage<Error>(HasSubstr("(0, 20]")));
  EXPECT_THROW(make_family(options_of(4, -1.0)), Error);
  EXPECT_THROW(make_family(options_of(4, std::nan(""))), Error);

  auto const family = make_family(options_of(4));
  EXPECT_THROW(values_of(*family, {1.0, 2.0}, Grid3::cube(4)), Error);
  EXPECT_THROW(values_of(*family, {0.0, 0.0, 0.0, std::nan("")}, Grid3::cube(4)), Error);
  std::vector<float> small(7);
  EXPECT_THROW(family->evaluate(std::vector<double>(4), Grid3::cube(2), {}, small), Error);
}

}  // namespace kl_test
}  // namespace voxcycle
