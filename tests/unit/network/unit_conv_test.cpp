// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/unit_conv.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace voxcycle {
namespace {

// Sums of 27 * 16 products in float32.
constexpr double rounding = 1e-5;

// torch takes a lone float32 sample another way than a batch, and so do we.
TEST(UnitConv, LoneSampleHasTheValuesItHasInABatch) {
  torch::manual_seed(2);
  auto const comm = make_self_communicator();
  torch::NoGradGuard const no_grad;
  for (auto const kind : {ConvKind::same, ConvKind::down, ConvKind::up, ConvKind::node}) {
    for (auto const bias : {Bias::yes, Bias::no}) {
      UnitConv conv({.kind = kind, .in = 16, .out = 8, .bias = bias});
      for (auto& p : conv.parameters()) p.uniform_(-0.1, 0.1);
      at::Tensor const x = at::rand({3, 16, 8, 4, 6}).contiguous(at::MemoryFormat::ChannelsLast3d);
      Pass const pass{.comm = *comm, .training = false};
      at::Tensor const all = conv.forward(pass, {x}).front();
      for (std::int64_t k = 0; k < 3; ++k) {
        at::Tensor const one = x.narrow(0, k, 1).contiguous(at::MemoryFormat::ChannelsLast3d);
        at::Tensor const y = conv.forward(pass, {one}).front();
        ASSERT_EQ(y.sizes(), all.narrow(0, k, 1).sizes());
        EXPECT_TRUE(y.is_contiguous(at::MemoryFormat::ChannelsLast3d));
        EXPECT_LT((y - all.narrow(0, k, 1)).abs().max().item<double>(), rounding);
      }
    }
  }
}

}  // namespace
}  // namespace voxcycle
