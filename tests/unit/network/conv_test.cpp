// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/conv.hpp"

#include "voxcycle/comm/gradient_reducer.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/network/backward.hpp"
#include "voxcycle/network/channel_join.hpp"

#include <array>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace conv_test {

constexpr std::array kKinds{ConvKind::point,     ConvKind::same,    ConvKind::down, ConvKind::up,
                            ConvKind::wide_down, ConvKind::wide_up, ConvKind::node};

// torch takes a lone float32 sample another way than a batch, and so do we.
TEST(Conv, LoneSampleHasTheValuesItHasInABatch) {
  at::manual_seed(2);
  auto const comm = make_self_communicator();
  at::NoGradGuard const no_grad;
  for (auto const kind : kKinds) {
    for (auto const bias : {Bias::yes, Bias::no}) {
      Conv conv({.kind = kind, .in = 16, .out = 8, .bias = bias});
      for (auto& p : conv.parameters()) p.uniform_(-0.1, 0.1);
      at::Tensor const x = at::rand({3, 16, 8, 4, 6}).contiguous(at::MemoryFormat::ChannelsLast3d);
      ForwardContext const context{.comm = *comm, .training = false};
      at::Tensor const all = conv.forward(context, {x}).front();
      for (std::int64_t k = 0; k < 3; ++k) {
        at::Tensor const one = x.narrow(0, k, 1).contiguous(at::MemoryFormat::ChannelsLast3d);
        at::Tensor const y = conv.forward(context, {one}).front();
        ASSERT_EQ(y.sizes(), all.narrow(0, k, 1).sizes());
        EXPECT_TRUE(y.is_contiguous(at::MemoryFormat::ChannelsLast3d));
        EXPECT_TRUE(at::equal(y, all.narrow(0, k, 1)));
      }
    }
  }
}

/// As torch's own functions take them.
at::Tensor plain(ConvKind kind, at::Tensor const& x, at::Tensor const& w, at::Tensor const& b) {
  switch (kind) {
    case ConvKind::point:
      return at::conv3d(x, w, b);
    case ConvKind::same:
    case ConvKind::node:
      return at::conv3d(x, w, b, 1, 1);
    case ConvKind::down:
      return at::conv3d(x, w, b, 2);
    case ConvKind::up:
      return at::conv_transpose3d(x, w, b, 2);
    case ConvKind::wide_down:
      return at::conv3d(x, w, b, 2, 1);
    case ConvKind::wide_up:
      return at::conv_transpose3d(x, w, b, 2, 1);
  }
  throw Error("unknown kind of convolution.");
}

/// Values and gradients of a convolution, its batch in tensors of `together` samples, the terms of
/// weight gradients of two.
std::vector<at::Tensor> in_parts(Conv& conv, at::ScalarType dtype, at::Tensor const& x,
                                 at::Tensor const& dy, std::int64_t together) {
  auto const comm = make_self_communicator();
  auto const layout = at::MemoryFormat::ChannelsLast3d;
  GradientReducer reducer(*comm, conv.parameters(), GradientMode::exact);
  ForwardContext const context{.comm = *comm,
                               .reducer = &reducer,
                               .dtype = dtype,
                               .total_micro_batches = (x.size(0) + 1) / 2,
                               .total_samples = x.size(0),
                               .micro_batch_size = 2};
  reducer.begin(context.total_micro_batches);
  MicroBatches parts;
  for (auto const& part : x.split(together))
    parts.push_back(part.contiguous(layout).clone().requires_grad_());
  MicroBatches const y = conv.forward(context, parts);
  std::vector<at::Tensor> gradients;
  for (auto const& part : dy.split(together)) gradients.push_back(part.contiguous(layout).clone());
  backward(y, gradients);
  reducer.finish();
  std::vector<at::Tensor> dx;
  for (auto const& part : parts) dx.push_back(part.grad());
  return {at::cat(y).detach(), at::cat(dx), conv.weight.grad().clone(), conv.bias.grad().clone()};
}

// What a rank computes at once may then follow from its share of the batch.
TEST(Conv, SamplesHaveTheSameBitsHoweverManyAreComputedAtOnce) {
  at::manual_seed(5);
  for (auto const dtype : {at::kFloat, at::kBFloat16}) {
    for (auto const kind : kKinds) {
      for (std::int64_t const channels : {1, 8, 16, 64, 128}) {
        for (std::int64_t const n : {2, 4, 8, 16}) {
          bool const wide = kind == ConvKind::wide_down || kind == ConvKind::wide_up;
          // Wide ones take features, of which there are more.
          if (channels * n > (wide ? 256 : 512) || (wide && channels == 1)) continue;
          // Points take the eight corners of residuals, on 4^3 and finer; below, oneDNN chooses its
          // loop by the number of samples.
          if (kind == ConvKind::point && (channels == 1 || n == 2)) continue;
          SCOPED_TRACE(c10::str(dtype, " ", static_cast<int>(kind), " ", channels, " ", n));
          Conv conv({.kind = kind, .in = channels, .out = 16, .bias = Bias::yes});
          for (auto& p : conv.parameters()) p.detach().uniform_(-0.1, 0.1);
          at::Tensor const x = at::randn({7, channels, n, n, n}).to(dtype);
          at::Tensor const like = plain(kind, x.to(at::kFloat), conv.weight, conv.bias);
          at::Tensor const dy = at::randn_like(like).to(dtype);
          auto const in_twos = in_parts(conv, dtype, x, dy, 2);
          for (std::int64_t const together : {4, 6, 8}) {
            auto const more = in_parts(conv, dtype, x, dy, together);
            for (std::size_t k = 0; k < more.size(); ++k)
              EXPECT_TRUE(at::equal(more[k], in_twos[k])) << together << ' ' << k;
          }
        }
      }
    }
  }
}

TEST(Conv, ValuesAndGradientsEqualTorchInBothLayouts) {
  constexpr double kDoubleRounding = 1e-12;
  at::manual_seed(3);
  auto const comm = make_self_communicator();
  for (auto layout : {at::MemoryFormat::ChannelsLast3d, at::MemoryFormat::Contiguous}) {
    for (auto const kind : kKinds) {
      SCOPED_TRACE(static_cast<int>(kind));
      Conv conv({.kind = kind, .in = 3, .out = 5, .bias = Bias::yes});
      conv.to(at::kDouble);
      for (auto& p : conv.parameters()) p.detach().uniform_(-0.1, 0.1);
      ForwardContext const context{
          .comm = *comm, .dtype = at::kDouble, .layout = layout, .total_samples = 2};
      at::Tensor const field = at::randn({2, 3, 4, 6, 8}, at::kDouble);
      at::Tensor const x = as_features(context, {field}).front().requires_grad_();
      at::Tensor const y = conv.forward(context, {x}).front();
      EXPECT_TRUE(x.is_contiguous(layout));
      EXPECT_TRUE(y.is_contiguous(layout));

      at::Tensor const p = field.detach().clone().requires_grad_();
      at::Tensor const w = conv.weight.detach().clone().requires_grad_();
      at::Tensor const b = conv.bias.detach().clone().requires_grad_();
      at::Tensor const want = plain(kind, p, w, b);
      at::Tensor const dy = at::randn_like(want);
      y.backward(dy);
      want.backward(dy);
      EXPECT_TRUE(at::allclose(y, want, kDoubleRounding, kDoubleRounding));
      EXPECT_TRUE(at::allclose(x.grad(), p.grad(), kDoubleRounding, kDoubleRounding));
      EXPECT_TRUE(at::allclose(conv.weight.grad(), w.grad(), kDoubleRounding, kDoubleRounding));
      EXPECT_TRUE(at::allclose(conv.bias.grad(), b.grad(), kDoubleRounding, kDoubleRounding));
    }
  }
}

// At 256^3 the channels of two fields are joined a slab at a time, below all at once.
TEST(Conv, ChannelsOfTwoFieldsGoTogetherOnCoarseAndFineGrids) {
  at::manual_seed(4);
  auto const comm = make_self_communicator();
  Conv conv({.in = 3, .out = 2});
  for (auto& p : conv.parameters()) p.detach().uniform_(-0.1, 0.1);
  ForwardContext const context{.comm = *comm, .dtype = at::kBFloat16};
  for (std::int64_t n : {8, 256}) {
    auto const make = [&](std::int64_t channels) {
      return as_features(context, {at::randn({1, channels, n, n, n})}).front().requires_grad_();
    };
    at::Tensor const a = make(2), b = make(1);
    at::Tensor const gradient = at::randn({1, 2, n, n, n}, at::kBFloat16);
    auto const differentiate = [&](MicroBatches const& y) {
      conv.zero_grad();
      for (auto const* x : {&a, &b}) x->mutable_grad() = at::Tensor();
      y.front().backward(gradient);
      return std::vector{y.front().detach(), a.grad(), b.grad(), conv.weight.grad().clone()};
    };
    auto const expected = differentiate(conv.forward(context, join_channels(context, {a}, {b})));
    auto const found = differentiate(conv.forward(context, {a}, {b}));
    for (std::size_t k = 0; k < found.size(); ++k) {
      EXPECT_TRUE(at::equal(found[k], expected[k])) << n << ' ' << k;
    }
  }
}

}  // namespace conv_test
}  // namespace voxcycle
