// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/multigrid/lanczos.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

// Twelve steps of some hundred operations in float64.
constexpr double rounding = 1e-10;

TEST(LanczosOnGpu, TopsAreThoseOfTheCpu) {
  at::manual_seed(1);
  Grid3 const grid{{20, 12, 34}, {1.0, 1.0, 1.0}};
  at::Tensor const nu = at::exp(at::randn({2, 1, 20, 12, 34}, at::kDouble));
  at::Tensor const expected = lanczos_top(*make_voxel_operator(grid, nu), 12);
  at::Tensor const found = lanczos_top(*make_voxel_operator(grid, nu.cuda()), 12);
  EXPECT_TRUE(found.is_cuda());
  EXPECT_LT(((found.cpu() - expected) / expected).abs().max().item<double>(), rounding);
}

}  // namespace
}  // namespace voxcycle
