// SPDX-License-Identifier: BSD-3-Clause
#include "network/layers/slab_conv.hpp"

#include <vector>

#include "conv_gradients.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <malloc.h>

namespace voxcycle {
namespace slab_conv_test {

using testing::backward;

constexpr auto kLayout = at::MemoryFormat::ChannelsLast3d;

struct Case {
  char const* name;
  ConvKind kind;
  std::int64_t kernel, stride, padding;
  bool transposed;
};

/// A convolution in slabs against torch's own, differentiated by torch.
class SlabConv : public ::testing::TestWithParam<Case> {
 protected:
  void make(std::int64_t planes_of_x, at::ScalarType dtype) {
    auto const& c = GetParam();
    at::manual_seed(2);
    std::int64_t const k = c.kernel;
    x = at::randn({2, 3, planes_of_x, 6, 4}, dtype).contiguous(kLayout).requires_grad_();
    w = at::randn(c.transposed ? at::IntArrayRef{3, 5, k, k, k} : at::IntArrayRef{5, 3, k, k, k},
                  dtype)
            .contiguous(kLayout)
            .requires_grad_();
    b = at::randn({5}, dtype);
    y = at::convolution(x, w, b, {c.stride, c.stride, c.stride}, {c.padding, c.padding, c.padding},
                        {1, 1, 1}, c.transposed, {0, 0, 0}, 1);
    gradient = at::randn_like(y).contiguous(kLayout);
    y.backward(gradient);
  }

  at::Tensor x, w, b, y, gradient;
};

TEST_P(SlabConv, EqualsTheWholeWhateverThePlanes) {
  constexpr double rounding = 1e-12;  // float64, sums of 2 * 27 * 3 * 10 * 24 terms at most
  for (std::int64_t planes_of_x : {10, 2}) {
    make(planes_of_x, at::kDouble);
    auto const close = [&](at::Tensor const& a, at::Tensor const& expected) {
      return a.sizes() == expected.sizes() && at::allclose(a, expected, rounding, rounding);
    };
    at::NoGradGuard const no_grad;
    for (std::int64_t planes : {1, 3, 4, 16}) {
      auto const kind = GetParam().kind;
      EXPECT_TRUE(close(slab_conv::forward_in_slabs(kind, x, w, b, planes), y)) << planes;
      EXPECT_TRUE(
          close(slab_conv::input_gradient_in_slabs(kind, gradient, x, w, planes).at(0), x.grad()))
          << planes;
      for (std::int64_t rows : {2, 3, 16}) {
        EXPECT_TRUE(close(slab_conv::weight_gradient_in_slabs(kind, gradient, x, w, planes, rows),
                          w.grad()))
            << planes << ' ' << rows;
      }
    }
  }
}

TEST_P(SlabConv, KeepsTheBitsOfSmallBf16Fields) {
  make(10, at::kBFloat16);
  at::NoGradGuard const no_grad;
  auto const kind = GetParam().kind;
  EXPECT_TRUE(at::equal(slab_conv::forward_in_slabs(kind, x, w, b, 4), y));
  EXPECT_TRUE(
      at::equal(slab_conv::input_gradient_in_slabs(kind, gradient, x, w, 4).at(0), x.grad()));
  auto const dw = slab_conv::weight_gradient_in_slabs(kind, gradient, x, w, 4, 4);
  EXPECT_EQ(dw.scalar_type(), at::kFloat);
  constexpr double bf16_rounding = 1.0 / 128.0;
  EXPECT_LE((dw - w.grad()).abs().max().item<double>(),
            bf16_rounding * w.grad().abs().max().item<double>());
}

TEST_P(SlabConv, ChannelsMayComeInTwoParts) {
  make(10, at::kBFloat16);
  at::NoGradGuard const no_grad;
  auto const kind = GetParam().kind;
  auto const first = x.narrow(1, 0, 1).contiguous(kLayout);
  auto const others = x.narrow(1, 1, 2).contiguous(kLayout);
  std::vector<at::Tensor> const parts{first, others};
  EXPECT_TRUE(at::equal(slab_conv::forward_whole(kind, parts, w, b), y));
  EXPECT_TRUE(at::equal(slab_conv::forward_in_slabs(kind, parts, w, b, 4), y));
  auto const in_slabs = slab_conv::input_gradient_in_slabs(kind, gradient, parts, w, 4);
  for (auto const& dx : {backward(kind, gradient, parts, w, true).x, in_slabs}) {
    ASSERT_EQ(dx.size(), 2U);
    EXPECT_TRUE(at::equal(at::cat(dx, 1), x.grad()));
  }
  EXPECT_TRUE(at::equal(slab_conv::weight_gradient_in_slabs(kind, gradient, parts, w, 4, 4),
                        slab_conv::weight_gradient_in_slabs(kind, gradient, x, w, 4, 4)));
}

TEST_P(SlabConv, PlanesBeyondTheEndsMayBeGiven) {
  make(10, at::kDouble);
  auto const& c = GetParam();
  if (c.kernel == 4) return;  // U-Nets are not shared out in slabs
  constexpr double rounding = 1e-12;
  at::NoGradGuard const no_grad;
  // Planes 4 and 5 of x, with those next to them where the kernel reaches beyond.
  std::int64_t const beyond = c.padding, first = 4, count = 2;
  slab_conv::Geometry const g(c.kind, slab_conv::Ends::given);
  auto const part = x.narrow(2, first - beyond, count + 2 * beyond).contiguous(kLayout);
  std::int64_t const planes = c.kind == ConvKind::node   ? 3
                              : c.kind == ConvKind::up   ? 4
                              : c.kind == ConvKind::down ? 1
                                                         : 2;
  std::int64_t const begin = c.kind == ConvKind::up ? 8 : c.kind == ConvKind::down ? 2 : first;
  at::Tensor const expected = y.narrow(2, begin, planes);
  auto const close = [&](at::Tensor const& a, at::Tensor const& b_expected) {
    return a.sizes() == b_expected.sizes() && at::allclose(a, b_expected, rounding, rounding);
  };
  EXPECT_TRUE(close(slab_conv::forward_whole(g, part, w, b), expected));
  EXPECT_TRUE(close(slab_conv::forward_in_slabs(g, part, w, b, 1), expected));

  at::Tensor const dy = at::randn_like(expected).contiguous(kLayout);
  auto const whole = backward(g, dy, part, w, true);
  EXPECT_TRUE(close(slab_conv::input_gradient_in_slabs(g, dy, part, w, 1).at(0), whole.x.at(0)));
  EXPECT_TRUE(close(slab_conv::weight_gradient_in_slabs(g, dy, part, w, 1, 2), whole.w));
  // The same gradients in a field of zeros: what this part adds to the whole's gradients.
  at::Tensor const all = at::zeros_like(y);
  all.narrow(2, begin, planes).copy_(dy);
  auto const reference = backward(c.kind, all, x, w, true);
  EXPECT_TRUE(close(whole.w, reference.w));
  EXPECT_TRUE(
      close(whole.x.at(0), reference.x.at(0).narrow(2, first - beyond, count + 2 * beyond)));
}

TEST_P(SlabConv, SlabsOfFineLevelsAgree) {
  auto const& c = GetParam();
  std::int64_t const k = c.kernel, outputs = c.kind == ConvKind::node ? 1 : 8;
  // Wide planes: there oneDNN takes other loops than for small ones.
  x = at::randn({1, 8, 33, 128, 128}, at::kBFloat16).contiguous(kLayout);
  if (c.stride == 2 && !c.transposed) x = x.narrow(2, 0, 32).contiguous(kLayout);
  w = at::randn(c.transposed ? at::IntArrayRef{8, outputs, k, k, k}
                             : at::IntArrayRef{outputs, 8, k, k, k},
                at::kBFloat16)
          .contiguous(kLayout);
  y = slab_conv::forward_whole(c.kind, x, w, std::nullopt).contiguous(kLayout);
  constexpr double bf16_rounding = 1.0 / 128.0;
  auto const close = [&](at::Tensor const& found, at::Tensor const& expected) {
    return (found - expected).abs().max().item<double>() <=
           bf16_rounding * expected.abs().max().item<double>();
  };
  EXPECT_TRUE(close(slab_conv::forward_in_slabs(c.kind, x, w, std::nullopt, 16), y));
  gradient = at::randn_like(y);
  auto const whole = backward(c.kind, gradient, x, w, true);
  EXPECT_TRUE(
      close(slab_conv::input_gradient_in_slabs(c.kind, gradient, x, w, 16).at(0), whole.x.at(0)));
  EXPECT_TRUE(close(slab_conv::weight_gradient_in_slabs(c.kind, gradient, x, w, 16, 512), whole.w));
}

// A GPU's sums, of equal parts none of which is too long.
TEST(SlabConvBySize, PlanesInASum) {
  for (std::int64_t const n : {1, 322, 323, 384, 512, 513, 640}) {
    std::int64_t const planes = slab_conv::planes_in_sum(n, n * n);
    EXPECT_LE(planes, n);
    EXPECT_LE(planes * n * n, slab_conv::max_in_sum) << n;
    EXPECT_GE(2 * planes * n * n, std::min(n * n * n, slab_conv::max_in_sum)) << n;
  }
  EXPECT_EQ(slab_conv::planes_in_sum(512, 512 * 512), 128);
  EXPECT_EQ(slab_conv::planes_in_sum(3, 2 * slab_conv::max_in_sum), 1);  // no less than a plane
}

// The first convolution of boxes whose coarsest level is one voxel thick. Memory that nobody wrote
// is filled with the complement of the number's lowest byte: NaN.
TEST(SlabConvBySize, OnePlaneOfOneChannel) {
  ::mallopt(M_PERTURB, 0x100);
  at::manual_seed(3);
  at::NoGradGuard const no_grad;
  for (auto const kind : {ConvKind::same, ConvKind::node}) {
    slab_conv::Geometry const g(kind);
    for (std::int64_t const n : {2, 4, 8, 16}) {
      at::Tensor const x = at::randn({2, 1, 1, n, n}, at::kBFloat16)
                               .as_strided({2, 1, 1, n, n}, {n * n, 1, n * n, n, 1});
      at::Tensor const w = at::randn({32, 1, g.kernel, g.kernel, g.kernel}, at::kBFloat16);
      at::Tensor const expected = at::conv3d(x.to(at::kFloat), w.to(at::kFloat), {}, 1, g.padding);
      for (int repeat = 0; repeat < 5; ++repeat) {
        at::Tensor const y = slab_conv::forward(g, x, w, {});
        ASSERT_EQ(y.sizes(), expected.sizes());
        EXPECT_TRUE(at::allclose(y.to(at::kFloat), expected, 0.02, 0.02)) << n;
        at::Tensor const gradient = at::randn(y.sizes()).to(at::kBFloat16).contiguous(kLayout);
        auto const exact =
            backward(g, gradient.to(at::kFloat), x.to(at::kFloat), w.to(at::kFloat), false);
        auto const found = backward(g, gradient, x, w, false);
        EXPECT_LE((found.w - exact.w).abs().max().item<double>(),
                  exact.w.abs().max().item<double>() / 64.0)
            << n;
      }
    }
  }
  ::mallopt(M_PERTURB, 0);
}

TEST(SlabConvBySize, WeightGradientsOfFewPlanes) {
  constexpr double bf16_rounding = 1.0 / 64.0;
  at::manual_seed(5);
  for (auto kind :
       {ConvKind::same, ConvKind::node, ConvKind::down, ConvKind::wide_down, ConvKind::wide_up}) {
    for (std::int64_t planes : {1, 2, 3, 4}) {
      slab_conv::Geometry const g(kind);
      if (g.stride == 2 && !g.transposed && planes % 2 != 0) continue;
      std::int64_t const k = g.kernel;
      auto const random = [](at::IntArrayRef sizes) {
        return at::randn(sizes).to(at::kBFloat16).contiguous(kLayout);
      };
      at::Tensor const x = random({2, 8, planes, 4, 4}), w = random({8, 8, k, k, k});
      at::Tensor const gradient = random(slab_conv::forward(kind, x, w, std::nullopt).sizes());
      auto const exact =
          backward(kind, gradient.to(at::kFloat), x.to(at::kFloat), w.to(at::kFloat), true);
      auto const found = backward(kind, gradient, x, w, true);
      EXPECT_LE((found.w - exact.w).abs().max().item<double>(),
                bf16_rounding * exact.w.abs().max().item<double>())
          << planes;
      EXPECT_LE((found.x.at(0) - exact.x.at(0)).abs().max().item<double>(),
                bf16_rounding * exact.x.at(0).abs().max().item<double>())
          << planes;
    }
  }
}

TEST(SlabConvBySize, LargeFieldsGoInSlabs) {
  // 2^24 voxels: the slabs' weight gradient is a float32 sum, the whole one's bf16.
  at::Tensor const x = at::randn({1, 2, 256, 256, 256}, at::kBFloat16).contiguous(kLayout);
  at::Tensor const w = at::randn({2, 2, 2, 2, 2}, at::kBFloat16).contiguous(kLayout);
  auto const y = slab_conv::forward(ConvKind::down, x, w, std::nullopt);
  auto const whole = slab_conv::forward_whole(ConvKind::down, x, w, std::nullopt);
  EXPECT_LE((y - whole).abs().max().item<double>(), whole.abs().max().item<double>() / 128.0);
  auto const found = backward(ConvKind::down, y, x, w, false);
  EXPECT_EQ(found.w.scalar_type(), at::kFloat);
  EXPECT_TRUE(found.x.empty());
}

/// Whoever has a share of a large sample needs as little beside it as one who has it all.
TEST(SlabConvBySize, SharesOfALargeSampleHaveTheirWeightGradientsInSlabs) {
  at::manual_seed(7);
  at::Tensor const x = at::randn({1, 3, 42, 6, 5}).to(at::kBFloat16).contiguous(kLayout);
  at::Tensor const gradient = at::randn({1, 2, 40, 6, 5}).to(at::kBFloat16).contiguous(kLayout);
  at::Tensor const w = at::randn({2, 3, 3, 3, 3}).to(at::kBFloat16).contiguous(kLayout);
  slab_conv::Geometry g(ConvKind::same, slab_conv::Ends::given);
  at::Tensor const whole = slab_conv::weight_gradient(g, gradient, x, w);
  EXPECT_EQ(whole.scalar_type(), at::kBFloat16);
  g.shares = slab_conv::many_voxels / (40 * 6 * 5);
  at::Tensor const in_slabs = slab_conv::weight_gradient(g, gradient, x, w);
  EXPECT_EQ(in_slabs.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::allclose(in_slabs, whole.to(at::kFloat), 1.0 / 64, 0.5));
}

INSTANTIATE_TEST_SUITE_P(Kinds, SlabConv,
                         ::testing::Values(Case{"point", ConvKind::point, 1, 1, 0, false},
                                           Case{"same", ConvKind::same, 3, 1, 1, false},
                                           Case{"down", ConvKind::down, 2, 2, 0, false},
                                           Case{"up", ConvKind::up, 2, 2, 0, true},
                                           Case{"wide_down", ConvKind::wide_down, 4, 2, 1, false},
                                           Case{"wide_up", ConvKind::wide_up, 4, 2, 1, true},
                                           Case{"node", ConvKind::node, 2, 1, 1, false}),
                         [](auto const& chosen) { return chosen.param.name; });

}  // namespace slab_conv_test
}  // namespace voxcycle
