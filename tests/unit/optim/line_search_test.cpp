// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/optim/line_search.hpp"

#include "voxcycle/core/error.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include <gtest/gtest.h>

namespace voxcycle {
namespace line_search_test {

struct Line {
  std::function<double(double)> value;
  std::function<double(double)> gradient;

  LinePoint at(double t) const { return {t, value(t), gradient(t)}; }
};

/// Asserts the strong Wolfe conditions as the textbook states them.
void expect_wolfe(Line const& line, LineSearchResult const& result, LineSearchOptions const& o) {
  auto const start = line.at(0.0);
  auto const there = line.at(result.point.t);
  EXPECT_EQ(result.end, LineEnd::wolfe);
  EXPECT_GT(result.point.t, 0.0);
  EXPECT_EQ(result.point.value, there.value);
  EXPECT_LE(there.value, start.value + o.decrease * there.t * start.gradient);
  EXPECT_LE(std::abs(there.gradient), o.curvature * std::abs(start.gradient));
}

/// The test functions of More and Thuente 1994, "Line search algorithms with guaranteed sufficient
/// decrease", eqs. 5.1 to 5.3 (5.1 with beta = 2, 5.2 with beta = 0.004, 5.3 with beta = 0.01).
std::vector<Line> more_thuente() {
  Line const first{[](double t) { return -t / (t * t + 2); },
                   [](double t) { return (t * t - 2) / ((t * t + 2) * (t * t + 2)); }};
  Line const second{
      [](double t) { return std::pow(t + 0.004, 5) - 2 * std::pow(t + 0.004, 4); },
      [](double t) { return 5 * std::pow(t + 0.004, 4) - 8 * std::pow(t + 0.004, 3); }};
  constexpr double l = 39;
  constexpr double beta = 0.01;
  auto const base = [](double t) {
    if (t <= 1 - beta) return 1 - t;
    if (t >= 1 + beta) return t - 1;
    return (t - 1) * (t - 1) / (2 * beta) + beta / 2;
  };
  auto const base_gradient = [](double t) {
    if (t <= 1 - beta) return -1.0;
    return t >= 1 + beta ? 1.0 : (t - 1) / beta;
  };
  using std::numbers::pi;
  Line const third{
      [=](double t) { return base(t) + 2 * (1 - beta) / (l * pi) * std::sin(l * pi / 2 * t); },
      [=](double t) { return base_gradient(t) + (1 - beta) * std::cos(l * pi / 2 * t); }};
  return {first, second, third};
}

TEST(LineSearch, FulfilsTheStrongWolfeConditionsFromFarBelowAndAbove) {
  for (auto const& line : more_thuente()) {
    for (double first : {1e-3, 1e-1, 1e1, 1e3}) {
      for (double curvature : {0.9, 0.1}) {
        LineSearchOptions const options{.decrease = 1e-4, .curvature = curvature};
        auto const phi = [&](double t) { return line.at(t); };
        auto const result = strong_wolfe(phi, line.at(0.0), first, options);
        expect_wolfe(line, result, options);
        // More and Thuente report at most 16 evaluations on these, with smaller tolerances too.
        EXPECT_LE(result.evaluations, 16) << first << ' ' << curvature;
      }
    }
  }
}

TEST(LineSearch, TakesTheFirstStepWhereItWillDo) {
  Line const parabola{[](double t) { return (t - 1) * (t - 1); },
                      [](double t) { return 2 * t - 2; }};
  auto const result = strong_wolfe([&](double t) { return parabola.at(t); }, parabola.at(0.0), 0.5);
  EXPECT_EQ(result.evaluations, 1);
  EXPECT_EQ(result.point.t, 0.5);
}

TEST(LineSearch, InterpolatesAParabolaExactly) {
  Line const parabola{[](double t) { return (t - 1) * (t - 1); },
                      [](double t) { return 2 * t - 2; }};
  // 4 overshoots: the value is higher than at 0, and the cubic through both ends is the parabola.
  auto const result = strong_wolfe([&](double t) { return parabola.at(t); }, parabola.at(0.0), 4.0,
                                   {.curvature = 0.1});
  EXPECT_EQ(result.evaluations, 2);
  EXPECT_NEAR(result.point.t, 1.0, 1e-14);
}

TEST(LineSearch, BacksOffWhereTheFunctionIsNotFinite) {
  for (double bad :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    // A barrier at t = 0.01, minimum at 0.005.
    Line const barrier{
        [bad](double t) { return t < 0.01 ? -std::log(t + 1e-3) - std::log(0.01 - t) : bad; },
        [bad](double t) { return t < 0.01 ? -1 / (t + 1e-3) + 1 / (0.01 - t) : bad; }};
    auto const result = strong_wolfe([&](double t) { return barrier.at(t); }, barrier.at(0.0), 1e3);
    expect_wolfe(barrier, result, {});
  }
}

TEST(LineSearch, SaysWhenThereIsNoLowerValue) {
  // The gradient at 0 promises a descent that the values do not keep.
  Line const kink{[](double t) { return t; }, [](double t) { return t == 0.0 ? -1.0 : 1.0; }};
  auto const result = strong_wolfe([&](double t) { return kink.at(t); }, kink.at(0.0), 1.0,
                                   {.max_evaluations = 12});
  EXPECT_EQ(result.end, LineEnd::failed);
  EXPECT_EQ(result.point.t, 0.0);
  EXPECT_EQ(result.evaluations, 12);
}

TEST(LineSearch, ReturnsTheBestPointWhenOutOfEvaluations) {
  Line const down{[](double t) { return -t; }, [](double) { return -1.0; }};
  auto const result =
      strong_wolfe([&](double t) { return down.at(t); }, down.at(0.0), 1.0, {.max_evaluations = 3});
  EXPECT_EQ(result.end, LineEnd::decrease);
  EXPECT_EQ(result.point.t, 111.0);  // 1, 1 + 10 * 1, 11 + 10 * 10
  EXPECT_EQ(result.evaluations, 3);
}

TEST(LineSearch, TrustsGradientsWhereValuesAreNoise) {
  // Values rounded to 1e-6, as float32 gives them: a fall of 1e-9 cannot be seen.
  auto const rounded = [](double x) { return std::round(x * 1e6) / 1e6 + (x < 0 ? 1e-6 : 0.0); };
  Line const faint{[&](double t) { return 1.0 + rounded(1e-9 * ((t - 1) * (t - 1) - 1)); },
                   [](double t) { return 1e-9 * (2 * t - 2); }};
  auto const phi = [&](double t) { return faint.at(t); };
  EXPECT_EQ(strong_wolfe(phi, faint.at(0.0), 1.0, {.noise = 0.0}).end, LineEnd::failed);
  auto const result = strong_wolfe(phi, faint.at(0.0), 1.0, {.noise = 1e-5});
  EXPECT_EQ(result.end, LineEnd::wolfe);
  EXPECT_EQ(result.point.t, 1.0);
}

TEST(LineSearch, RefusesToClimb) {
  auto const phi = [](double t) { return LinePoint{t, t, 1.0}; };
  EXPECT_THROW(strong_wolfe(phi, {0.0, 0.0, 1.0}, 1.0), Error);
  EXPECT_THROW(strong_wolfe(phi, {0.0, 0.0, -1.0}, 0.0), Error);
  EXPECT_THROW(strong_wolfe(phi, {0.0, NAN, -1.0}, 1.0), Error);
}

}  // namespace line_search_test
}  // namespace voxcycle
