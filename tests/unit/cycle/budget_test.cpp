// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/cycle/budget.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace voxcycle {
namespace budget_test {

TEST(Budget, EpochsBecomeStepsThatCoverThem) {
  EXPECT_EQ(resolve_epochs({.epochs = 1.5}, 100, 8).steps, 19);
  EXPECT_EQ(resolve_epochs({.epochs = 1}, 96, 8).steps, 12);
  EXPECT_EQ(resolve_epochs({.steps = 5, .epochs = 1}, 96, 8).steps, 5);
  EXPECT_EQ(resolve_epochs({.steps = 50, .epochs = 1}, 96, 8).steps, 12);
  EXPECT_EQ(resolve_epochs({.seconds = 3}, 96, 8).steps, 0);
  EXPECT_EQ(resolve_epochs({.epochs = 1e-9}, 96, 8).steps, 1);
  EXPECT_EQ(resolve_epochs({.epochs = 1.1}, 100, 10).steps, 11);  // 1.1 * 100 > 110 in float64
}

TEST(Budget, TheFirstLimitReachedEndsTheVisit) {
  Budget const both{.steps = 10, .seconds = 20};
  EXPECT_EQ(progress_of(both, 0, 0), 0.0);
  EXPECT_EQ(progress_of(both, 5, 1), 0.5);
  EXPECT_EQ(progress_of(both, 5, 15), 0.75);
  EXPECT_EQ(progress_of(both, 10, 0), 1.0);
  EXPECT_EQ(progress_of(both, 1, 25), 1.0);
  EXPECT_EQ(progress_of({.seconds = 4}, 1000, 1), 0.25);
}

TEST(Budget, WhatIsLeftIsToTheNearestLimit) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(seconds_left({.steps = 10}, 4, 100, 2.0), 12.0);
  EXPECT_EQ(seconds_left({.steps = 10}, 4, 100, 0.0), infinity);
  // However fast steps were and are.
  EXPECT_EQ(seconds_left({.seconds = 20}, 4, 15, 0.1), 5.0);
  EXPECT_EQ(seconds_left({.seconds = 20}, 0, 0, 0.0), 20.0);
  EXPECT_EQ(seconds_left({.steps = 10, .seconds = 20}, 8, 1, 2.0), 4.0);
  EXPECT_EQ(seconds_left({.steps = 10, .seconds = 20}, 2, 18, 2.0), 2.0);
  EXPECT_EQ(seconds_left({.seconds = 20}, 4, 25, 2.0), 0.0);
}

TEST(Budget, StallsAfterPatienceWithoutImprovement) {
  StallRule const rule{.patience = 2, .improvement = 0.1};
  EXPECT_FALSE(has_stalled({}, rule));
  EXPECT_FALSE(has_stalled({1.0, 0.8, 0.6, 0.5}, rule));
  EXPECT_FALSE(has_stalled({1.0, 0.95}, rule));
  EXPECT_TRUE(has_stalled({1.0, 0.95, 0.91}, rule));
  // Slow falls add up: 0.89 is a tenth below the last gap that counted.
  EXPECT_FALSE(has_stalled({1.0, 0.95, 0.89, 0.88}, rule));
  EXPECT_TRUE(has_stalled({1.0, 0.95, 0.89, 0.88, 0.87}, rule));
  EXPECT_FALSE(has_stalled({1.0, 1.0, 1.0, 1.0}, {.patience = 0}));
}

}  // namespace budget_test
}  // namespace voxcycle
