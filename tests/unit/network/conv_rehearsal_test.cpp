// SPDX-License-Identifier: BSD-3-Clause
#include "network/layers/conv_rehearsal.hpp"

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/core/parallel.hpp"
#include "voxcycle/core/rehearsal.hpp"
#include "voxcycle/network/block.hpp"

#include <array>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace conv_rehearsal_test {

constexpr std::array kKinds{ConvKind::point,     ConvKind::same,    ConvKind::down, ConvKind::up,
                            ConvKind::wide_down, ConvKind::wide_up, ConvKind::node};

constexpr std::int64_t kSamples = 3;
constexpr std::int64_t kVoxels = 16 * 16 * 16;
/// Weights and sums of channels, relative to features.
constexpr double kSmallThings = 0.02;

at::Tensor features(std::int64_t channels, at::Device device = at::kMeta) {
  return at::empty(
      {kSamples, channels, 16, 16, 16},
      at::device(device).dtype(at::kFloat).memory_format(at::MemoryFormat::ChannelsLast3d));
}

double bytes_of(std::int64_t channels) {
  return static_cast<double>(4 * kSamples * kVoxels * channels);
}

TEST(ConvRehearsal, ResultsHaveTheShapesOfConvolutions) {
  auto const comm = make_self_communicator();
  for (auto kind : kKinds) {
    auto const shapes = [&](at::Device device) {
      Conv conv({.kind = kind, .in = 2, .out = 5, .bias = Bias::yes});
      at::Tensor const x = features(2, device).fill_(1.0).requires_grad_();
      auto const y = conv.forward({.comm = *comm, .device = device}, {x});
      y[0].sum().backward();
      return std::vector{y[0].sizes().vec(), x.grad().sizes().vec(),
                         conv.weight.grad().sizes().vec()};
    };
    auto const in_earnest = shapes(at::kCPU);
    Rehearsal const rehearsal({});
    EXPECT_EQ(shapes(at::kMeta), in_earnest);
  }
}

TEST(ConvRehearsal, BlocksKeepWhatTheirBackwardReadsAgain) {
  auto const comm = make_self_communicator();
  Rehearsal const rehearsal({});
  Block block(2, 5, Norm::sync_batch);
  {
    auto const y = block.recomputed({.comm = *comm, .device = at::kMeta, .total_samples = kSamples},
                                    block, {{features(2)}},
                                    [](ForwardContext const&, Fields const& in) { return in; });
    // x, two results of convolutions, the first activation, and y itself.
    double const kept = bytes_of(2 + 5 + 5 + 5 + 5);
    EXPECT_NEAR(static_cast<double>(rehearsal.counts()->held), kept, kSmallThings * kept);
    EXPECT_NEAR(static_cast<double>(rehearsal.peak()), kept, kSmallThings * kept);
  }
  EXPECT_LT(static_cast<double>(rehearsal.counts()->held), kSmallThings * bytes_of(22));
}

TEST(ConvRehearsal, WorkspacesAreHeldForAMoment) {
  Rehearsal const rehearsal({.threads = 2});
  at::Tensor const x = features(8).to(at::kBFloat16), w = at::empty({8, 8, 3, 3, 3}, x.options());
  conv_rehearsal::Geometry const same{3, 1, {1, 1, 1}, false};
  at::Tensor const y = conv_rehearsal::forward(same, x, w);
  auto const held = rehearsal.counts()->held;
  conv_rehearsal::weight_gradient(same, y, x, w);
  // Of each thread a sample: 16 channels, rows of x in 32 values.
  std::int64_t const workspace = 2 * 2 * 16 * (16 * 16 * 32 + kVoxels);
  EXPECT_EQ(rehearsal.counts()->held, held);
  EXPECT_EQ(rehearsal.peak(), held + workspace + 2 * w.numel());
}

TEST(ConvRehearsal, ValuesAreLeftAlone) {
  Rehearsal const rehearsal({.has_gpu = true});
  EXPECT_TRUE(is_on_gpu(features(1)));
  parallel_for(10, 1 << 20, [](auto, auto) { FAIL(); });
}

}  // namespace conv_rehearsal_test
}  // namespace voxcycle
