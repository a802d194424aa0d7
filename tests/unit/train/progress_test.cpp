// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/progress.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace voxcycle {
namespace progress_test {

TEST(Progress, LineShowsStageStepErrorRateAndTime) {
  ProgressState state;
  state.stage = 1;
  state.stages = 3;
  state.grid = "32^3";
  state.step = 100;
  state.steps = 300;
  state.done = 0.25;
  state.left = 20.0;
  state.loss = 0.5;
  state.energy_gap = 0.0023;
  state.rate = 1.2e-3;
  state.step_seconds = 0.1;
  state.samples = 8;
  EXPECT_EQ(progress_text(state),
            "25 %  left 20.0 s  stage 2/3  32^3  step 100/300  gap 0.23 %  loss 0.50000  rate "
            "1.2e-03  100 ms/step  80 samples/s");
  state.step_seconds = 117.0;
  state.samples = 1;
  EXPECT_NE(progress_text(state).find("  0.0085 samples/s"), std::string::npos);
  state.steps = 0;  // a budget in seconds
  EXPECT_NE(progress_text(state).find("step 100  gap"), std::string::npos);
}

TEST(Progress, LineShowsASearch) {
  ProgressState state;
  state.grid = "8^3";
  state.loss = 0.5;
  state.energy_gap = 0.01;
  state.search = {1.2e-3, 0.5, 2, 1};
  EXPECT_EQ(progress_text(state),
            "stage 1/1  8^3  step 0/1  gap 1.00 %  loss 0.50000  gradient 1.2e-03  length 0.5  "
            "2 evaluations  1 pairs skipped");
}

TEST(Progress, LineOmitsWhatIsNotKnownYet) {
  ProgressState state;
  state.grid = "8^3";
  state.energy_gap = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(progress_text(state), "stage 1/1  8^3  step 0/1  loss 0.00000  rate 0.0e+00");
  state.loss = 5.4321e-9;  // of supervised
  EXPECT_EQ(progress_text(state), "stage 1/1  8^3  step 0/1  loss 5.4321e-09  rate 0.0e+00");
}

}  // namespace progress_test
}  // namespace voxcycle
