// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/data_watch.hpp"

#include <gtest/gtest.h>

namespace voxcycle {
namespace data_watch_test {

/// `count` steps of one second, of which `waited` went to the data.
void add_steps(DataWatch& watch, std::size_t count, double waited) {
  StepTimes times;
  times.data = waited;
  times.forward = 0.4 * (1.0 - waited);
  times.backward = 0.6 * (1.0 - waited);
  for (std::size_t k = 0; k < count; ++k) watch.add(times);
}

constexpr double kRounding = 1e-12;  // sums of 50 terms

TEST(DataWatch, SeesTheLastFiftyStepsOfAStageButItsFirst) {
  DataWatch watch;
  watch.begin_stage();
  add_steps(watch, 1, 1.0);  // nothing was read ahead of it
  add_steps(watch, 49, 0.2);
  EXPECT_EQ(watch.share(), 0.0) << "49 steps are too few";
  add_steps(watch, 1, 0.2);
  EXPECT_NEAR(watch.share(), 0.2, kRounding);
  add_steps(watch, 25, 0.6);
  EXPECT_NEAR(watch.share(), 0.4, kRounding);
  add_steps(watch, 25, 0.6);
  EXPECT_NEAR(watch.share(), 0.6, kRounding);
}

TEST(DataWatch, WeighsStepsByTheirTime) {
  DataWatch watch;
  watch.begin_stage();
  StepTimes brief;
  brief.data = brief.update = 0.5;
  StepTimes lengthy;
  lengthy.loss = lengthy.reduction = 12.0;
  for (int k = 0; k < 51; ++k) watch.add(k % 2 == 0 ? brief : lengthy);
  EXPECT_NEAR(watch.share(), 0.5 / 25.0, kRounding);
}

TEST(DataWatch, ForgetsTheStageBefore) {
  DataWatch watch;
  watch.begin_stage();
  add_steps(watch, 60, 0.9);
  watch.begin_stage();
  EXPECT_EQ(watch.share(), 0.0);
  add_steps(watch, 51, 0.0);
  EXPECT_EQ(watch.share(), 0.0);
}

TEST(DataWatch, WarnsOnceAboveATenth) {
  DataWatch watch;
  EXPECT_EQ(watch.warning(0.10), "");
  auto const text = watch.warning(0.34);
  EXPECT_NE(text.find("waited for data 34 % of the last 50 steps' time"), std::string::npos)
      << text;
  EXPECT_EQ(watch.warning(0.9), "");
  watch.begin_stage();
  EXPECT_EQ(watch.warning(0.9), "");
}

TEST(DataWatch, AdvisesWhatFitsWhereSamplesComeFrom) {
  EXPECT_NE(DataWatch(false).warning(0.5).find("a faster disk"), std::string::npos);
  EXPECT_NE(DataWatch(true).warning(0.5).find("data.on_the_fly = no"), std::string::npos);
}

}  // namespace data_watch_test
}  // namespace voxcycle
