// SPDX-License-Identifier: BSD-3-Clause
#include "loss_fields.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

using testing::LossFields;

constexpr double kRounding = 1e-12;  // float64

TEST(EnergyLoss, TheLiftHasNormalisedEnergyOne) {
  LossFields f({Grid3::cube(4), {}});
  f.in.u = f.lifted.expand({2, 1, 5, 5, 5}).contiguous();
  auto const terms = make_loss("energy_normalised", f.problem)->evaluate(f.in);
  EXPECT_TRUE(at::allclose(terms.values, at::ones({2}, at::kDouble), kRounding, kRounding));
  // For the default boundary the scale is half the mean of nu.
  auto const plain = make_loss("energy", f.problem)->evaluate(f.in);
  EXPECT_TRUE(at::allclose(plain.values, f.in.nu.flatten(1).mean(1) / 2, kRounding, kRounding));
}

}  // namespace
}  // namespace voxcycle
