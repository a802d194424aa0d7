// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/channel_join.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace channel_join_test {

constexpr auto kChannelsLast = at::MemoryFormat::ChannelsLast3d;

at::Tensor features(std::int64_t channels, at::ScalarType dtype, at::MemoryFormat layout) {
  return at::randn({2, channels, 3, 4, 5}).to(dtype).contiguous(layout).requires_grad_();
}

ForwardContext context_in(at::MemoryFormat layout) {
  static auto const comm = make_self_communicator();
  return {.comm = *comm, .layout = layout};
}

/// Values and gradients of join_channels against at::cat, bit for bit.
void expect_equals_cat(std::int64_t a, std::int64_t b, at::ScalarType dtype,
                       at::MemoryFormat layout) {
  SCOPED_TRACE(std::to_string(a) + " + " + std::to_string(b) + " " + at::toString(dtype));
  at::manual_seed(3);
  MicroBatches const x{features(a, dtype, layout), features(a, dtype, layout)};
  MicroBatches const y{features(b, dtype, layout), features(b, dtype, layout)};
  MicroBatches const joined = join_channels(context_in(layout), x, y);
  for (std::size_t k = 0; k < x.size(); ++k) {
    at::Tensor const p = x[k].detach().clone().requires_grad_();
    at::Tensor const q = y[k].detach().clone().requires_grad_();
    at::Tensor const want = at::cat({p, q}, 1);
    EXPECT_TRUE(at::equal(joined[k], want));
    EXPECT_TRUE(joined[k].is_contiguous(layout));
    at::Tensor gradient =
        at::randn({2, 4, a + b, 5, 3}).to(dtype).permute({0, 2, 4, 1, 3});  // of neither layout
    want.backward(gradient);
    joined[k].backward(gradient);
    EXPECT_TRUE(at::equal(x[k].grad(), p.grad()));
    EXPECT_TRUE(at::equal(y[k].grad(), q.grad()));
    EXPECT_TRUE(x[k].grad().is_contiguous(layout));
  }
}

TEST(ChannelJoin, EqualsCatForEveryRowSize) {
  for (auto dtype : {at::kBFloat16, at::kFloat, at::kDouble}) {
    for (std::int64_t channels : {1, 3, 8, 16, 32, 64})
      expect_equals_cat(channels, channels, dtype, kChannelsLast);
    expect_equals_cat(2, 5, dtype, kChannelsLast);
  }
}

TEST(ChannelJoin, EqualsCatInTorchsDefaultLayout) {
  expect_equals_cat(3, 3, at::kFloat, at::MemoryFormat::Contiguous);
  expect_equals_cat(2, 5, at::kDouble, at::MemoryFormat::Contiguous);
}

TEST(ChannelJoin, TakesFeaturesOfAnotherLayout) {
  at::Tensor const a = at::randn({2, 4, 3, 4, 5});
  at::Tensor const b = at::randn({2, 2, 3, 4, 5});
  EXPECT_TRUE(at::equal(join_channels(context_in(kChannelsLast), {a}, {b})[0], at::cat({a, b}, 1)));
}

TEST(ChannelJoin, AcceptsAnEmptyUnit) {
  auto const joined =
      join_channels(context_in(kChannelsLast), {at::zeros({0, 4, 2, 2, 2}).requires_grad_()},
                    {at::zeros({0, 2, 2, 2, 2})});
  EXPECT_EQ(joined[0].sizes(), (std::vector<std::int64_t>{0, 6, 2, 2, 2}));
  joined[0].sum().backward();
}

}  // namespace channel_join_test
}  // namespace voxcycle
