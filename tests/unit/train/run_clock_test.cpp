// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/run_clock.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace voxcycle {
namespace run_clock_test {

TEST(SizedTimes, OtherSizesFollowAPowerLaw) {
  SizedTimes times;
  EXPECT_TRUE(std::isnan(times.expected(8)));
  times.add(10, 2.0);
  EXPECT_DOUBLE_EQ(times.expected(10), 2.0);
  EXPECT_DOUBLE_EQ(times.expected(40), 8.0);
  EXPECT_DOUBLE_EQ(times.expected(5), 1.0);
  times.add(1000, 20.0);  // ten times as long for a hundred times as much
  EXPECT_NEAR(times.expected(100), std::sqrt(2.0 * 20.0), 1e-12);
  EXPECT_NEAR(times.expected(100000), 200.0, 1e-9);
  times.add(2000, 10.0);  // larger, but no slower: overheads
  EXPECT_DOUBLE_EQ(times.expected(8000), 10.0);
  times.add(10, 12.0);
  EXPECT_DOUBLE_EQ(times.expected(10), 7.0);  // the mean of two
}

TEST(RunClock, CountsStepsEvaluationsAndCheckpointsOfAllStages) {
  RunClock::Stage const coarse{.budget = {.steps = 10},
                               .voxels = 8,
                               .batch = 2,
                               .step_seconds = 0.8,
                               .evaluations = 2,
                               .held_out = 3};
  RunClock::Stage const fine{
      .budget = {.steps = 5}, .voxels = 64, .step_seconds = 3.0, .evaluations = 1, .held_out = 4};
  RunClock clock({coarse, fine});
  EXPECT_DOUBLE_EQ(clock.left(0, 0, 0.0), 10 * 0.8 + 5 * 3.0);
  clock.add_checkpoint(0.5);
  clock.add_step(0, 1.0);  // and not 0.8: then others may take more by as much
  EXPECT_DOUBLE_EQ(clock.left(0, 1, 1.0), 9 + 0.5 + 5 * 3.75 + 0.5);
  clock.add_evaluation(8, 3, 6.0);
  clock.add_evaluation(64, 4, 20.0);
  double const finer = 5 * 3.75 + 2 * 20 + 0.5;  // evaluated before and after
  EXPECT_DOUBLE_EQ(clock.left(0, 1, 1.0), 9 + 2 * 6 + 0.5 + finer);
  EXPECT_DOUBLE_EQ(clock.left(0, 5, 5.0), 5 + 1 * 6 + 0.5 + finer);
  clock.add_step(1, 2.0);
  EXPECT_DOUBLE_EQ(clock.left(1, 1, 2.0), 4 * 2 + 20 + 0.5);
}

TEST(RunClock, StepsOfUnknownLengthFollowThoseThatWereMade) {
  RunClock clock(
      {{.budget = {.steps = 10}, .voxels = 8, .batch = 2}, {.budget = {.steps = 5}, .voxels = 64}});
  EXPECT_TRUE(std::isnan(clock.left(0, 0, 0.0)));
  clock.add_step(0, 1.0);
  EXPECT_DOUBLE_EQ(clock.left(0, 1, 1.0), 9 + 5 * 4);
}

TEST(RunClock, KnowsStagesThatAreLimitedInSeconds) {
  RunClock clock({{.budget = {.seconds = 20}, .evaluations = 1}});
  EXPECT_DOUBLE_EQ(clock.left(0, 3, 15.0), 5.0);
}

}  // namespace run_clock_test
}  // namespace voxcycle
