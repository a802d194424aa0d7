// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/prolongation.hpp"

#include "poisson/multigrid/transfer.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace prolongation_test {

// Sums of 27 products in float64.
constexpr double rounding = 1e-14;

TEST(Prolongation, TakesValuesOverAndInterpolatesBetweenThem) {
  at::Tensor const u = at::rand({2, 1, 3, 5, 4}, at::kDouble);
  at::Tensor const fine = prolonged(u, {{4, 8, 6}});
  at::Tensor const same = fine.slice(2, 0, {}, 2).slice(3, 0, {}, 2).slice(4, 0, {}, 2);
  EXPECT_LT((same - u).abs().max().item<double>(), rounding);
  double const between = fine[1][0][1][3][5].item<double>();  // in the middle of eight
  at::Tensor const corners = u[1][0].narrow(0, 0, 2).narrow(1, 1, 2).narrow(2, 2, 2);
  EXPECT_NEAR(between, corners.mean().item<double>(), rounding);
}

/// What backward does on a GPU, against torch's on a CPU.
TEST(Prolongation, TransposeIsTorchsBackward) {
  at::manual_seed(1);
  at::Tensor const gradient = at::randn({2, 1, 5, 9, 7}, at::kDouble);
  at::Tensor const expected = at::upsample_trilinear3d_backward(
      gradient, {5, 9, 7}, {2, 1, 3, 5, 4}, /*align_corners=*/true);
  at::Tensor const found = restrict_nodes(gradient, {{2, 4, 3}});
  ASSERT_EQ(found.sizes(), expected.sizes());
  EXPECT_LT((found - expected).abs().max().item<double>(), rounding * 10);
}

}  // namespace prolongation_test
}  // namespace voxcycle
