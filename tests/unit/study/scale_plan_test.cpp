// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/study/scale_plan.hpp"

#include "voxcycle/core/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace scale_plan_test {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// A few sums and quotients of numbers near 1.
constexpr double rounding = 1e-12;

TEST(ScalePlan, BatchesOfStrongAndWeakScaling) {
  EXPECT_EQ(strong_scaling({1, 2, 6}, 8), (std::vector<ScaleRun>{{1, 8}, {2, 8}, {6, 8}}));
  EXPECT_EQ(weak_scaling({1, 2, 6}, 8), (std::vector<ScaleRun>{{1, 8}, {2, 16}, {6, 48}}));
  // Clusters need not begin with one process.
  EXPECT_EQ(weak_scaling({4, 6}, 8), (std::vector<ScaleRun>{{4, 8}, {6, 12}}));
  EXPECT_THAT(
      [] {
        weak_scaling({4, 5}, 6);
      },
      ThrowsMessage<Error>(HasSubstr("6 on 4 processes has no counterpart on 5")));
}

TEST(ScalePlan, ProcessesTogetherOnASample) {
  EXPECT_EQ(space_scaling({1, 2, 4}, 3), (std::vector<ScaleRun>{{1, 3, 1}, {2, 3, 2}, {4, 3, 4}}));
  EXPECT_EQ(strong_scaling({2, 4}, 8, 2), (std::vector<ScaleRun>{{2, 8, 2}, {4, 8, 2}}));
  EXPECT_EQ(weak_scaling({2, 4}, 8, 2), (std::vector<ScaleRun>{{2, 8, 2}, {4, 16, 2}}));
}

TEST(ScaleRows, SpeedUpsAndEfficiencies) {
  // Strong: 4 times the processes, 3.2 times the speed. Weak: a step takes 1.25 times as long.
  auto const strong = scale_rows({{2, 8}, {8, 8}}, {{{2, 8}, {{1.6}}}, {{8, 8}, {{0.5}}}});
  EXPECT_THAT(strong[0].efficiency.mean, DoubleNear(1.0, rounding));
  EXPECT_THAT(strong[1].speedup, DoubleNear(3.2, rounding));
  EXPECT_THAT(strong[1].efficiency.mean, DoubleNear(0.8, rounding));
  auto const weak = scale_rows({{2, 8}, {8, 32}}, {{{2, 8}, {{1.6}}}, {{8, 32}, {{2.0}}}});
  EXPECT_THAT(weak[1].speedup, DoubleNear(3.2, rounding));
  EXPECT_THAT(weak[1].efficiency.mean, DoubleNear(0.8, rounding));
}

TEST(ScaleRows, ATurnIsComparedWithTheFirstRunsOfTheSameTurn) {
  // Something slowed the second turn to half the speed, of all runs alike.
  auto const rows =
      scale_rows({{1, 8}, {2, 8}}, {{{1, 8}, {{1.0}, {2.0}}}, {{2, 8}, {{0.5}, {1.25}, {0.625}}}});
  EXPECT_THAT(rows[1].seconds.mean, DoubleNear(2.375 / 3, rounding));
  EXPECT_EQ(rows[1].seconds.low, 0.5);
  EXPECT_EQ(rows[1].seconds.high, 1.25);
  EXPECT_THAT(rows[1].efficiency.mean, DoubleNear((1.0 + 0.8 + 0.8) / 3, rounding));
  EXPECT_THAT(rows[1].efficiency.low, DoubleNear(0.8, rounding));
  EXPECT_THAT(rows[1].efficiency.high, DoubleNear(1.0, rounding));
}

TEST(ScaleRows, RunsThatAreNotMeasuredAreLeftOut) {
  // Jobs of 1 and 4 processes wait in the queue still.
  auto const rows = scale_rows({{1, 8}, {2, 8}, {4, 8}, {8, 8}},
                               {{{2, 8}, {{1.0}}}, {{4, 8}, {}}, {{8, 8}, {{0.5}}}});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].run.processes, 2);
  EXPECT_EQ(rows[1].run.processes, 8);
  EXPECT_THAT(rows[1].efficiency.mean, DoubleNear(0.5, rounding));
}

TEST(ScaleRows, MeanSharesTellWhereTimeGoes) {
  auto const rows = scale_rows({{2, 8}}, {{{2, 8}, {{1.0, 0.1, 0.2, 0.0}, {1.0, 0.3, 0.2, 0.1}}}});
  EXPECT_THAT(rows[0].mean.waiting, DoubleNear(0.2, rounding));
  EXPECT_THAT(rows[0].mean.reducing, DoubleNear(0.2, rounding));
  EXPECT_THAT(rows[0].mean.input, DoubleNear(0.05, rounding));
  EXPECT_THAT(rows[0].mean.computing(), DoubleNear(0.55, rounding));
  auto const table = scale_table("weak", rows);
  EXPECT_THAT(table, ::testing::StartsWith("weak\n"));
  EXPECT_THAT(table, ::testing::ContainsRegex(" 55 % +20 % +20 % +5 %\n"));
}

}  // namespace scale_plan_test
}  // namespace voxcycle
