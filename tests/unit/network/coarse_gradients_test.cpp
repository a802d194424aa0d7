// SPDX-License-Identifier: BSD-3-Clause
#include "network/layers/coarse_gradients.hpp"

#include <vector>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace coarse_gradients_test {

constexpr auto kLayout = at::MemoryFormat::ChannelsLast3d;

/// What a convolution's backward is given.
struct Case {
  slab_conv::Geometry g;
  at::Tensor gradient, x, w;
};

Case make(ConvKind kind, std::int64_t in, std::int64_t out, at::IntArrayRef size) {
  slab_conv::Geometry const g = kind;
  std::int64_t const k = g.kernel;
  auto const w = at::randn(g.transposed ? at::IntArrayRef{in, out, k, k, k}
                                        : at::IntArrayRef{out, in, k, k, k})
                     .contiguous(kLayout);
  at::Tensor const x = at::randn({7, in, size[0], size[1], size[2]}).contiguous(kLayout);
  at::Tensor const y = slab_conv::forward_whole(g, {x}, w, {});
  return {g, at::randn_like(y).contiguous(kLayout), x, w};
}

/// In float64, of samples from `first` on.
at::Tensor expected(Case const& c, std::int64_t first, std::int64_t count) {
  auto const wide = [](at::Tensor const& t) { return t.to(at::kDouble).contiguous(); };
  return slab_conv::weight_gradient(c.g, wide(c.gradient.narrow(0, first, count)),
                                    {wide(c.x.narrow(0, first, count))}, wide(c.w));
}

// Bits of a micro-batch are those that it has alone, on one thread as on two.
TEST(CoarseGradients, AreThoseOfEachMicroBatchHoweverManyThereAre) {
  at::manual_seed(7);
  int const threads = at::get_num_threads();
  std::vector<std::vector<std::int64_t>> const sizes{{4, 4, 4}, {2, 4, 6}, {2, 2, 2}, {1, 1, 1}};
  for (auto const kind : {ConvKind::same, ConvKind::down, ConvKind::up, ConvKind::wide_down,
                          ConvKind::wide_up, ConvKind::node}) {
    for (auto const& size : sizes) {
      bool const halves = kind == ConvKind::down || kind == ConvKind::wide_down;
      if (halves && size[0] == 1) continue;
      for (auto const& [in, out] : {std::pair{16, 16}, {1, 16}, {16, 3}, {21, 32}, {64, 48}}) {
        SCOPED_TRACE(c10::str(static_cast<int>(kind), " ", size, " ", in, " ", out));
        auto const c = make(kind, in, out, size);
        ASSERT_TRUE(coarse_gradients::are_wanted(c.g, c.gradient, c.x, c.w));
        at::set_num_threads(2);
        auto const all = coarse_gradients::of_weight(c.g, c.gradient, c.x, c.w, 2);
        at::set_num_threads(1);
        ASSERT_EQ(all.size(), 4U);
        for (std::int64_t first = 0; first < 7; first += 2) {
          std::int64_t const count = std::min<std::int64_t>(2, 7 - first);
          at::Tensor const& dw = all[static_cast<std::size_t>(first / 2)];
          auto const alone = coarse_gradients::of_weight(c.g, c.gradient.narrow(0, first, count),
                                                         c.x.narrow(0, first, count), c.w, 2);
          EXPECT_TRUE(at::equal(dw, alone.front()));
          EXPECT_EQ(dw.strides(), c.w.strides());
          EXPECT_TRUE(at::allclose(dw.to(at::kDouble), expected(c, first, count), 1e-4, 1e-4));
        }
      }
    }
  }
  at::set_num_threads(threads);
}

TEST(CoarseGradients, AreWantedOfFewVoxelsAndWholeVectorsOfChannels) {
  auto const wanted = [](Case const& c) {
    return coarse_gradients::are_wanted(c.g, c.gradient, c.x, c.w);
  };
  EXPECT_TRUE(wanted(make(ConvKind::same, 16, 16, {4, 4, 4})));
  EXPECT_FALSE(wanted(make(ConvKind::same, 16, 16, {4, 4, 8})));
  EXPECT_FALSE(wanted(make(ConvKind::same, 8, 8, {4, 4, 4})));
  EXPECT_TRUE(wanted(make(ConvKind::down, 16, 16, {8, 8, 8})));
  EXPECT_FALSE(wanted(make(ConvKind::up, 16, 16, {8, 8, 8})));
}

}  // namespace coarse_gradients_test
}  // namespace voxcycle
