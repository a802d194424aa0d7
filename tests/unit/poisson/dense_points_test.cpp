// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/multigrid/dense_points.hpp"

#include <memory>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace dense_points_test {

at::Tensor inverses(at::Tensor matrices, EmulatedBlock::Order order) {
  auto const shared = std::make_unique<InverseShared>();
  EmulatedBlock block(order);
  InverseJob const job{matrices.mutable_data_ptr<double>(), matrices.size(1)};
  for (std::int64_t sample = 0; sample < matrices.size(0); ++sample)
    inverse_block(block, *shared, job, sample);
  return matrices;
}

TEST(DensePoints, InverseIsThatOfLapack) {
  at::manual_seed(1);
  for (std::int64_t n : {1, 7, 125, 300}) {
    at::Tensor const x = at::randn({2, n, n}, at::kDouble);
    at::Tensor const a = x.bmm(x.transpose(1, 2)).add_(at::eye(n, at::kDouble));
    at::Tensor const expected = at::inverse(a);
    auto const found = inverses(a.clone(), EmulatedBlock::Order::upwards);
    EXPECT_LT(((found - expected).abs().max() / expected.abs().max()).item<double>(), 1e-10) << n;
    EXPECT_TRUE(at::equal(inverses(a.clone(), EmulatedBlock::Order::downwards), found)) << n;
  }
}

TEST(DensePoints, WhatIsNotPositiveDefiniteGivesNaNs) {
  at::Tensor a = at::eye(9, at::kDouble).unsqueeze(0).contiguous();
  a[0][8][8] = -1.0;
  EXPECT_TRUE(inverses(a, EmulatedBlock::Order::upwards).isnan().all().item<bool>());
}

}  // namespace dense_points_test
}  // namespace voxcycle
