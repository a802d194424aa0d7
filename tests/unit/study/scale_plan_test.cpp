// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/study/scale_plan.hpp"

#include "voxcycle/core/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::ThrowsMessage;

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

TEST(ScalePlan, SpeedUpsAndEfficiencies) {
  // Strong: 4 times the processes, 3.2 times the speed. Weak: a step takes 1.25 times as long.
  auto const strong = scale_rows({{2, 8}, {8, 8}}, {{{2, 8}, {1.6, 0.1}}, {{8, 8}, {0.5, 0.3}}});
  EXPECT_THAT(strong[0].efficiency, DoubleNear(1.0, 1e-12));
  EXPECT_THAT(strong[1].speedup, DoubleNear(3.2, 1e-12));
  EXPECT_THAT(strong[1].efficiency, DoubleNear(0.8, 1e-12));
  auto const weak = scale_rows({{2, 8}, {8, 32}}, {{{2, 8}, {1.6, 0.1}}, {{8, 32}, {2.0, 0.3}}});
  EXPECT_THAT(weak[1].speedup, DoubleNear(3.2, 1e-12));
  EXPECT_THAT(weak[1].efficiency, DoubleNear(0.8, 1e-12));
  auto const table = scale_table("weak", weak);
  EXPECT_THAT(table, HasSubstr("80 %"));
  EXPECT_THAT(table, HasSubstr("30 %"));
}

}  // namespace
}  // namespace voxcycle
