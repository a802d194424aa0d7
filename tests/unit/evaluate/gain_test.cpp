// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/evaluate/gain.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace gain_test {

using ::testing::HasSubstr;

TEST(Gain, TellsBothErrorsAndWhatToDoWhereNoneIsLower) {
  MeanErrors const before{0.1, 0.01, 0.08};
  auto const gained = gain_of("16^3", before, 0.028);
  EXPECT_TRUE(gained.gained);
  EXPECT_EQ(gained.text, "training took the energy-norm error at 16^3 from 8.00 % to 2.80 %");
  for (double const after : {0.079999, 0.08, 0.1, std::numeric_limits<double>::quiet_NaN()}) {
    auto const none = gain_of("16^3", before, after);
    EXPECT_FALSE(none.gained);
    EXPECT_THAT(none.text, HasSubstr("training gained nothing at 16^3"));
    EXPECT_THAT(none.text, HasSubstr("lower cycle.rate"));
  }
}

}  // namespace gain_test
}  // namespace voxcycle
