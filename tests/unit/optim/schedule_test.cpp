// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/optim/schedule.hpp"

#include <gtest/gtest.h>

namespace voxcycle {
namespace schedule_test {

constexpr double kStep = 0.01;
constexpr double kRounding = 1e-12;

TEST(Schedule, WarmsUpLinearlyInWholeSteps) {
  EXPECT_NEAR(scheduled_rate(Decay::none, 0.0, kStep, 0.1), 0.1, kRounding);
  EXPECT_NEAR(scheduled_rate(Decay::none, 0.05, kStep, 0.1), 0.6, kRounding);
  EXPECT_NEAR(scheduled_rate(Decay::none, 0.09, kStep, 0.1), 1.0, kRounding);
  EXPECT_NEAR(scheduled_rate(Decay::none, 0.5, kStep, 0.1), 1.0, kRounding);
  // A warm-up shorter than a step is none.
  EXPECT_EQ(scheduled_rate(Decay::none, 0.0, kStep, 0.0), 1.0);
  EXPECT_EQ(scheduled_rate(Decay::none, 0.0, kStep, 0.005), 1.0);
}

TEST(Schedule, RatesGrowWithTheWorkersAsAskedFor) {
  EXPECT_EQ(rate_scale(RateScaling::none, 9), 1.0);
  EXPECT_EQ(rate_scale(RateScaling::sqrt, 9), 3.0);
  EXPECT_EQ(rate_scale(RateScaling::linear, 9), 9.0);
  for (auto scaling : {RateScaling::none, RateScaling::sqrt, RateScaling::linear}) {
    EXPECT_EQ(rate_scale(scaling, 1), 1.0);
  }
}

TEST(Schedule, DecaysToZeroAtTheEnd) {
  EXPECT_NEAR(scheduled_rate(Decay::cosine, 0.5, kStep, 0.1), 0.5, kRounding);
  EXPECT_NEAR(scheduled_rate(Decay::cosine, 1.0, kStep, 0.1), 0.0, kRounding);
  EXPECT_NEAR(scheduled_rate(Decay::linear, 0.25, kStep, 0.1), 0.75, kRounding);
  EXPECT_NEAR(scheduled_rate(Decay::linear, 1.0, kStep, 0.1), 0.0, kRounding);
  EXPECT_EQ(scheduled_rate(Decay::none, 1.0, kStep, 0.1), 1.0);
}

TEST(Schedule, DecaysByOneFactorToAHundredth) {
  EXPECT_EQ(scheduled_rate(Decay::exponential, 0.0, kStep, 0.0), 1.0);
  EXPECT_NEAR(scheduled_rate(Decay::exponential, 0.5, kStep, 0.1), 0.1, kRounding);
  EXPECT_NEAR(scheduled_rate(Decay::exponential, 1.0, kStep, 0.1), 0.01, kRounding);
  double rate = 1.0;
  for (int step = 1; step <= 100; ++step) {
    rate *= 0.954992586021436;  // the 100th root of 1/100
    EXPECT_NEAR(scheduled_rate(Decay::exponential, step * kStep, kStep, 0.0), rate, kRounding);
  }
}

}  // namespace schedule_test
}  // namespace voxcycle
