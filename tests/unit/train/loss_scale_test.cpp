// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/loss_scale.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace loss_scale_test {

TEST(LossScale, HalvesWithAStepThatOverflowsAndDoublesAfterManyThatDoNot) {
  LossScale scale({.first = 8.0, .patience = 3});
  EXPECT_EQ(scale.value(), 8.0);
  scale.settle(false);
  scale.settle(false);
  EXPECT_EQ(scale.value(), 2.0);
  EXPECT_EQ(scale.skipped(), 2);
  scale.settle(true);
  scale.settle(true);
  scale.settle(false);  // begins the count anew
  EXPECT_EQ(scale.value(), 1.0);
  for (double const expected : {1.0, 1.0, 2.0, 2.0, 2.0, 4.0}) {
    scale.settle(true);
    EXPECT_EQ(scale.value(), expected);
  }
}

TEST(LossScale, GoesOnFromItsState) {
  LossScale scale({.first = 8.0, .patience = 3}), other({.first = 8.0, .patience = 3});
  for (bool const is_finite : {false, true, true}) scale.settle(is_finite);
  other.restore(scale.state());
  other.settle(true);
  EXPECT_EQ(other.value(), 8.0);
}

}  // namespace loss_scale_test
}  // namespace voxcycle
