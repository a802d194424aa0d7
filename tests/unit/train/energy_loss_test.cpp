// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/train/loss.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

constexpr double kRounding = 1e-12;   // float64
constexpr double kDifference = 1e-7;  // central differences with step 1e-5 in float64

struct Fields {
  Grid3 grid = Grid3::cube(4);
  at::Tensor u = at::rand({2, 1, 5, 5, 5}, at::kDouble);
  at::Tensor nu = at::rand({2, 1, 4, 4, 4}, at::kDouble) + 0.5;
};

TEST(EnergyLoss, TheLiftHasNormalisedEnergyOne) {
  Fields const f;
  auto const loss = make_loss("energy_normalised", f.grid, {});
  at::Tensor const u = lift(f.grid, {}, at::kDouble).expand({2, 1, 5, 5, 5}).contiguous();
  auto const terms = loss->evaluate(u, f.nu);
  EXPECT_TRUE(at::allclose(terms.values, at::ones({2}, at::kDouble), kRounding, kRounding));
  // For the default boundary the scale is half the mean of nu.
  auto const plain = make_loss("energy", f.grid, {})->evaluate(u, f.nu);
  EXPECT_TRUE(at::allclose(plain.values, f.nu.flatten(1).mean(1) / 2, kRounding, kRounding));
}

TEST(EnergyLoss, GradientEqualsCentralDifferences) {
  Fields const f;
  for (auto const& name : loss_names()) {
    auto const loss = make_loss(name, f.grid, {});
    auto const gradient = loss->evaluate(f.u, f.nu).gradient;
    for (std::int64_t node : {0, 31, 62, 124}) {
      double const step = 1e-5;
      auto const at_offset = [&](double offset) {
        at::Tensor const moved = f.u.clone();
        moved.view({2, -1}).select(1, node).add_(offset);
        return loss->evaluate(moved, f.nu).values;
      };
      at::Tensor const slope = (at_offset(step) - at_offset(-step)) / (2 * step);
      EXPECT_TRUE(
          at::allclose(gradient.view({2, -1}).select(1, node), slope, kDifference, kDifference))
          << name << " node " << node;
    }
  }
}

TEST(EnergyLoss, RefusesUnknownNamesAndBoundariesWithoutScale) {
  EXPECT_THROW(make_loss("mse", Grid3::cube(4), {}), Error);
  Boundary equal;
  equal.faces[0].value = 0.0;
  EXPECT_THROW(make_loss("energy_normalised", Grid3::cube(4), equal), Error);
}

}  // namespace
}  // namespace voxcycle
