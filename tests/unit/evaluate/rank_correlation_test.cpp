// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/evaluate/rank_correlation.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace voxcycle {
namespace rank_correlation_test {

TEST(RankCorrelation, IsThatOfTheRanksByHand) {
  // Ranks 1, 2, 3, 4, 5 and 1, 2, 3.5, 5, 3.5: covariances 8, squares 10 and 9.5.
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4, 50}, {5, 6, 7, 8, 7}), 8 / std::sqrt(95.0));
  EXPECT_DOUBLE_EQ(rank_correlation({3, 1, 2}, {9, 1, 4}), 1.0);
  EXPECT_DOUBLE_EQ(rank_correlation({3, 1, 2}, {-9, 0, -4}), -1.0);
  // Ranks 1, 2, 3 and 2, 3, 1: -1 / 2.
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3}, {20, 30, 10}), -0.5);
}

TEST(RankCorrelation, LeavesOutWhatIsNotFinite) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  double const infinity = std::numeric_limits<double>::infinity();
  EXPECT_DOUBLE_EQ(rank_correlation({3, nan, 1, 2, 0}, {9, 1, 1, 4, infinity}), 1.0);
}

TEST(RankCorrelation, HasNoValueWithoutTwoRanks) {
  EXPECT_TRUE(std::isnan(rank_correlation({}, {})));
  EXPECT_TRUE(std::isnan(rank_correlation({1}, {1})));
  EXPECT_TRUE(std::isnan(rank_correlation({1, 2, 3}, {4, 4, 4})));
}

}  // namespace rank_correlation_test
}  // namespace voxcycle
