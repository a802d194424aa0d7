// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/study/runs_left.hpp"

#include "voxcycle/train/progress.hpp"

#include <cmath>

#include <gtest/gtest.h>

namespace voxcycle {
namespace runs_left_test {

TEST(RunsLeft, TheNewestProgressLineTellsTheShare) {
  auto const line = [](double done) {
    ProgressState state;
    state.done = done;
    state.left = 12.0;
    return progress_text(state) + "\n";
  };
  EXPECT_EQ(told_share("[info] training\n"), 0.0);
  EXPECT_EQ(told_share(line(0.25)), 0.25);
  EXPECT_EQ(told_share(line(0.25) + "[info] 8^3\n" + line(0.5) + "gap 90 %  left\n"), 0.5);
}

TEST(RunsLeft, RunsGoOnAsTheyWent) {
  EXPECT_TRUE(std::isnan(seconds_left_of_runs(3.0, 0.0, {0.0}, 4)));
  EXPECT_DOUBLE_EQ(seconds_left_of_runs(20.0, 2.0, {0.5, 0.0}, 1), 20.0);
  EXPECT_DOUBLE_EQ(seconds_left_of_runs(20.0, 0.0, {0.25}, 3), 20.0 * 15.0);
  EXPECT_DOUBLE_EQ(seconds_left_of_runs(20.0, 4.0, {}, 0), 0.0);
}

}  // namespace runs_left_test
}  // namespace voxcycle
