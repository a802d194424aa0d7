// SPDX-License-Identifier: BSD-3-Clause
#include "network/layers/norm_loops.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

constexpr auto layout = at::MemoryFormat::ChannelsLast3d;
constexpr double leak = 0.1;

double difference(at::Tensor const& on_gpu, at::Tensor const& expected) {
  at::Tensor const a = on_gpu.cpu().to(at::kDouble), b = expected.to(at::kDouble);
  return ((a - b).abs().max() / b.abs().max()).item<double>();
}

at::Tensor forward(at::Tensor const& x, at::Tensor const& scale, at::Tensor const& shift) {
  at::Tensor y = at::empty_like(x);
  norm_loops::forward(x, scale, shift, leak, y);
  return y;
}

TEST(NormLoopsOnGpu, EqualThoseOfTheCpu) {
  at::manual_seed(1);
  for (auto dtype : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf}) {
    // Sums of a hundred thousand terms; elements have the same operations and rounding.
    double const allowed = dtype == at::kDouble ? 1e-12 : 1e-6;
    for (std::int64_t channels : {4, 24, 300}) {
      for (std::int64_t sets : {1, 2}) {
        auto const field = [&] {
          return at::randn({2, channels, 16, 17, 18}, at::kDouble).to(dtype).contiguous(layout);
        };
        auto const coefficient = [&] {
          return at::randn({sets, channels}, norm_loops::compute_type(at::empty({0}, dtype)));
        };
        at::Tensor const x = field(), dy = field();
        at::Tensor const a = coefficient(), b = coefficient(), m = coefficient();
        at::Tensor const p = coefficient(), q = coefficient();
        at::Tensor const xg = x.cuda(), dyg = dy.cuda();
        EXPECT_LT(difference(norm_loops::moments(xg), norm_loops::moments(x)), allowed);
        EXPECT_LT(
            difference(norm_loops::backward_moments(dyg, xg, a.cuda(), b.cuda(), m.cuda(), leak),
                       norm_loops::backward_moments(dy, x, a, b, m, leak)),
            allowed);
        EXPECT_TRUE(at::equal(forward(xg, a.cuda(), b.cuda()).cpu(), forward(x, a, b)));
        EXPECT_TRUE(at::equal(
            norm_loops::backward(dyg, xg, a.cuda(), b.cuda(), p.cuda(), q.cuda(), leak).cpu(),
            norm_loops::backward(dy, x, a, b, p, q, leak)));
        EXPECT_TRUE(at::equal(norm_loops::moments(xg), norm_loops::moments(xg)));
        norm_loops::forward(xg, a.cuda(), b.cuda(), leak, xg);
        EXPECT_TRUE(at::equal(xg.cpu(), forward(x, a, b)));
      }
    }
  }
}

TEST(NormLoopsOnGpu, CoefficientsElsewhereAreRefused) {
  at::Tensor const x = at::randn({1, 4, 3, 3, 3}).contiguous(layout).cuda();
  at::Tensor const a = at::ones({1, 4});
  EXPECT_ANY_THROW(forward(x, a, a));
}

}  // namespace
}  // namespace voxcycle
