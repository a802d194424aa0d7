// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/sample_sums.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

// Some ten thousand products in float64.
constexpr double rounding = 1e-12;

// In one block a sample and in several; a sample of a batch has the bits that it has alone.
TEST(SampleDotsOnGpu, AreThoseOfTheCpu) {
  at::manual_seed(1);
  for (auto dtype : {at::kFloat, at::kDouble}) {
    for (std::int64_t const n : {5, 40}) {
      at::Tensor const a = at::rand({3, 1, n, n + 1, n + 2}, dtype);
      at::Tensor const b = at::rand_like(a);
      at::Tensor const expected = sample_dots(a, b), found = sample_dots(a.cuda(), b.cuda());
      EXPECT_TRUE(found.is_cuda());
      EXPECT_LT(((found.cpu() - expected) / expected).abs().max().item<double>(), rounding);
      at::Tensor const alone = sample_dots(a.narrow(0, 1, 1).cuda(), b.narrow(0, 1, 1).cuda());
      EXPECT_TRUE(at::equal(alone.cpu(), found.narrow(0, 1, 1).cpu()));
    }
  }
}

}  // namespace
}  // namespace voxcycle
