// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/memory.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/network/block.hpp"
#include "voxcycle/network/channel_join.hpp"
#include "voxcycle/network/network.hpp"

#include "networks.hpp"
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Grid3 const kGrid = Grid3::cube(8);
constexpr std::int64_t kVoxels = 8 * 8 * 8;
constexpr std::int64_t kNodes = 9 * 9 * 9;
constexpr std::int64_t kHeadGradient = 4 * 4 * 8;  ///< bytes, of a head on four channels

/// float32 throughout, so that weights need no copies; three samples, two of them in a micro-batch.
Tape::Options three_samples(bool recompute = false) {
  return {.samples = 3, .micro_batch = 2, .recompute = recompute};
}

/// Bytes of so many channels of three samples.
std::int64_t channels(std::int64_t count) {
  return 3 * 4 * kVoxels * count;
}

TEST(Tape, ForwardKeepsWhatConvolutionsAndNormalisationReadAgain) {
  Ledger ledger;
  Tape tape(ledger, three_samples());
  Field const x = tape.features(kGrid, 2);
  Field const y = Block::plan({2, 5, Norm::group}, tape, x);
  // x, two results of convolutions, the first activation, and y itself.
  EXPECT_EQ(ledger.held(), channels(2 + 5 + 5 + 5 + 5));
  EXPECT_EQ(ledger.peak(), ledger.held());
  EXPECT_EQ(tape.weight_count(), 27 * (2 * 5 + 5 * 5) + 2 * (5 + 5));
}

TEST(Tape, WithoutGradientsOnlyNeighboursLive) {
  Ledger ledger;
  auto options = three_samples();
  options.gradient = false;
  Tape tape(ledger, options);
  Field const x = tape.features(kGrid, 2);
  Field const y = Block::plan({2, 5, Norm::group}, tape, x);
  EXPECT_EQ(ledger.held(), channels(2 + 5));
  // Block's h lives on while the second convolution's result is normalised.
  EXPECT_EQ(ledger.peak(), channels(2 + 5 + 5 + 5));
}

/// u from a head on x's features through one Block.
Field head_of_block(Tape& tape, Field const& x) {
  Field const first = Conv::plan({.in = 1, .out = 4}, tape, x);
  Field const g = Block::plan({4, 4, Norm::group}, tape, first);
  return Conv::plan({.kind = ConvKind::node, .in = 4, .out = 1}, tape, g);
}

TEST(Tape, BackwardFreesAsItGoes) {
  Ledger ledger;
  Tape tape(ledger, three_samples());
  Field const x = tape.features(kGrid, 1);
  Ledger::Held gradient;
  {
    Field const u = head_of_block(tape, x);
    gradient = ledger.hold("gradient", 3 * 4 * kNodes);
    tape.backward(u, gradient);
    // Kept: x, first, conv1, h, conv2, g; in flight at the worst time: conv2's activation is
    // normalised while g is gone, two gradients live; or g's gradient is made while g lives.
    EXPECT_EQ(ledger.peak(), channels(1 + 5 * 4 + 4) + 2 * 3 * 4 * kNodes + kHeadGradient);
  }
  EXPECT_EQ(tape.take_gradients().size(), 4U);
  EXPECT_EQ(ledger.held(), channels(1) + 3 * 4 * kNodes);
}

TEST(Tape, RecomputedBlocksKeepTheInputsOfConvolutions) {
  Ledger ledger;
  Tape tape(ledger, three_samples(true));
  Field x = tape.features(kGrid, 4);
  std::int64_t peak_of_forward = 0;
  {
    Field const start = Conv::plan({.in = 4, .out = 4}, tape, x);
    Field const h = Block::plan({4, 4, Norm::group}, tape, start);
    Field const g = Block::plan({4, 4, Norm::group}, tape, h);
    EXPECT_EQ(ledger.held(), channels(6 * 4));  // x, start, first half, h, first half, g
    peak_of_forward = ledger.peak();
    EXPECT_EQ(peak_of_forward, channels(6 * 4 + 4));  // and the last convolution's result
    Field const u = Conv::plan({.kind = ConvKind::node, .in = 4, .out = 1}, tape, g);
    auto const gradient = ledger.hold("gradient", 3 * 4 * kNodes);
    tape.backward(u, gradient);
  }
  // The last convolution again: its result, and gradients of g and of that; the six from above; u
  // and its gradient.
  EXPECT_EQ(ledger.peak(), channels(4 * (6 + 3)) + 2 * 3 * 4 * kNodes + kHeadGradient);
  EXPECT_EQ(tape.weight_count(), 27 * 5 * 16 + 4 * 2 * 4 + 8 * 4);
}

TEST(Tape, SecondGradientsAreAddedToTheFirst) {
  Ledger ledger;
  Tape tape(ledger, three_samples());
  Field const x = tape.features(kGrid, 1);
  {
    Field const h = Conv::plan({.in = 1, .out = 4}, tape, x);
    Field const joined = plan_join(tape, h, h);
    Field const u = Conv::plan({.kind = ConvKind::node, .in = 8, .out = 1}, tape, joined);
    tape.backward(u, {});
  }
  EXPECT_EQ(ledger.held(), channels(1) + 4 * (27 * 4 + 8 * 8));  // and the weights' gradients
}

TEST(Tape, LargestTensorIsOfOneUnit) {
  Ledger ledger;
  Tape tape(ledger, three_samples());
  Field const x = tape.features(kGrid, 6);
  plan_join(tape, x, x);
  tape.features(Grid3::cube(4), 95);
  EXPECT_EQ(tape.largest().elements, 2 * 12 * kVoxels);
  EXPECT_EQ(tape.largest().channels, 12);
  EXPECT_EQ(tape.largest().grid, kGrid);
}

TEST(Tape, UnitsLargerThanTheShareAreRefused) {
  Ledger ledger;
  EXPECT_THAT([&] { Tape(ledger, {.samples = 1, .micro_batch = 2}); },
              ThrowsMessage<Error>(HasSubstr("a unit of 2 in 1")));
}

std::vector<NetworkOptions> networks() {
  NetworkOptions multigrid{.channels = {{4, 6}, {8, 5}, {16, 3}}};
  NetworkOptions with_source = multigrid;
  with_source.inputs = 2;
  NetworkOptions unet{.name = "unet", .depth = 2, .base_channels = 4};
  NetworkOptions adapted = unet;
  adapted.adaptation = Adaptation::yes;
  adapted.cycle_levels = {4, 8, 16};
  return {multigrid, with_source, unet, adapted};
}

TEST(PlanNetwork, CountsTheWeightsOfTheNetworkItself) {
  for (auto const& options : networks()) {
    auto const network = testing::bare_network(options);
    std::int64_t count = 0;
    for (auto const& parameter : network->parameters()) count += parameter.numel();
    EXPECT_EQ(weight_count(options), count) << options.name;
    // And of the levels that a coarser pass uses.
    count = 0;
    for (auto const& level : network->levels(kGrid)) {
      for (auto const& parameter : level.parameters) count += parameter.numel();
    }
    Ledger ledger;
    Tape tape(ledger, three_samples());
    plan_network(options, tape, kGrid, tape.voxels(kGrid, options.inputs));
    EXPECT_EQ(tape.weight_count(), count) << options.name;
  }
}

TEST(PlanNetwork, UnknownNamesAndLevelsAreRefused) {
  Ledger ledger;
  Tape tape(ledger, three_samples());
  auto const plan = [&](NetworkOptions const& options, Grid3 const& grid) {
    plan_network(options, tape, grid, tape.voxels(grid, 1));
  };
  EXPECT_THAT([&] { plan({.name = "mesh"}, kGrid); },
              ThrowsMessage<Error>(HasSubstr("Choose one of multigrid, unet")));
  EXPECT_THAT([&] { plan({}, Grid3::cube(24)); },
              ThrowsMessage<Error>(HasSubstr("no level for grid 24^3")));
}

}  // namespace
}  // namespace voxcycle
