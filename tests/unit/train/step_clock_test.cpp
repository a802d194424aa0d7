// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/step_clock.hpp"

#include <gtest/gtest.h>

namespace voxcycle {
namespace step_clock_test {

TEST(StepClock, HoldsTheRecentMeanOfTheStage) {
  StepClock clock;
  clock.begin_stage(512);
  EXPECT_EQ(clock.mean(), 0.0);
  clock.add(2.0);
  EXPECT_EQ(clock.mean(), 2.0);
  clock.add(3.0);
  EXPECT_DOUBLE_EQ(clock.mean(), 2.1);
  EXPECT_DOUBLE_EQ(clock.expected(), 2.1);
  clock.agree_on(4.0);
  EXPECT_EQ(clock.expected(), 4.0);
}

TEST(StepClock, ExpectsOfAStageWhatTheNextCoarserLetsExpect) {
  StepClock clock;
  clock.begin_stage(1000);
  EXPECT_EQ(clock.expected(), 0.0);  // nothing is known
  clock.add(1.0);
  clock.begin_stage(8000);
  EXPECT_EQ(clock.mean(), 0.0);
  EXPECT_DOUBLE_EQ(clock.expected(), 8.0);
  clock.add(5.0);
  clock.begin_stage(16000);
  EXPECT_DOUBLE_EQ(clock.expected(), 10.0);
  clock.begin_stage(4000);  // the last had no step
  EXPECT_DOUBLE_EQ(clock.expected(), 4.0);
  clock.begin_stage(500);  // coarser than all
  EXPECT_DOUBLE_EQ(clock.expected(), 0.5);
  clock.begin_stage(8000);  // visited again
  EXPECT_DOUBLE_EQ(clock.expected(), 5.0);
  clock.add(16.0, 32000);  // looked at four batches
  clock.begin_stage(64000);
  EXPECT_DOUBLE_EQ(clock.expected(), 32.0);
}

}  // namespace step_clock_test
}  // namespace voxcycle
