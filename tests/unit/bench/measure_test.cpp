// SPDX-License-Identifier: BSD-3-Clause
#include "bench/measure.hpp"

#include "voxcycle/core/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace measure_test {

TEST(Medians, AreOfEachValueInTheRoundsThatCount) {
  double round = 0.0;
  auto const measure = [&] {
    ++round;
    return std::vector<double>{round, -round};
  };
  EXPECT_THAT(medians(3, measure, /*warm_ups=*/2), ::testing::ElementsAre(4.0, -4.0));
  EXPECT_EQ(round, 5.0);
  EXPECT_THAT(medians(1, measure, /*warm_ups=*/0), ::testing::ElementsAre(6.0, -6.0));
  EXPECT_THROW(medians(0, measure, /*warm_ups=*/1), Error);
}

}  // namespace measure_test
}  // namespace voxcycle
