// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/memory.hpp"

#include "voxcycle/core/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Key;
using testing::ThrowsMessage;

TrainOptions options() {
  TrainOptions o;
  o.network.channels = {{4, 16}, {8, 16}, {16, 8}, {32, 8}};
  o.micro_batch_size = 1;
  return o;
}

LevelPlan level(std::int64_t batch) {
  return {.grid = Grid3::cube(32), .batch = batch, .optimizer = "adam"};
}

std::int64_t bytes(TrainOptions const& o, std::int64_t batch, MemoryOptions const& memory = {}) {
  return plan_memory(o, level(batch), memory).bytes;
}

TEST(PlanMemory, GrowsLinearlyWithTheBatch) {
  // The loss works on one micro-batch at a time; all else is a sample's share and a fixed part.
  std::int64_t const one = bytes(options(), 4);
  std::int64_t const two = bytes(options(), 8);
  std::int64_t const three = bytes(options(), 12);
  EXPECT_EQ(three - two, two - one);
  EXPECT_GT(two, one);
}

TEST(PlanMemory, RanksShareTheBatchButNotTheWeights) {
  EXPECT_EQ(bytes(options(), 8, {.ranks = 2}), bytes(options(), 4));
  // Of five micro-batches on two ranks one has three.
  EXPECT_EQ(bytes(options(), 5, {.ranks = 2}), bytes(options(), 3));
  // Ranks without a micro-batch do not matter.
  EXPECT_EQ(bytes(options(), 2, {.ranks = 7}), bytes(options(), 1));
}

TEST(PlanMemory, AddsWhatItIsToldOf) {
  std::int64_t const bare = bytes(options(), 4);
  EXPECT_EQ(bytes(options(), 4, {.program_bytes = 1000}), bare + 1000);
  // nu of four samples, float32.
  EXPECT_EQ(bytes(options(), 4, {.batches_ahead = 3}), bare + 3 * 4 * 4 * 32 * 32 * 32);
  // Held-out samples: nu in float32 and u in float64.
  EXPECT_EQ(bytes(options(), 4, {.held_out = 10}) - bytes(options(), 4, {.held_out = 9}),
            4 * 32 * 32 * 32 + 8 * 33 * 33 * 33);
}

TEST(PlanMemory, BothNetworksShareTheirFrames) {
  auto const account = plan_memory(options(), level(4), {.held_out = 2}).account;
  EXPECT_EQ(account.at("frame of 32^3"), 2 * 4 * 33 * 33 * 33);  // lift and mask, float32
}

TEST(PlanMemory, AccountAddsUpToThePeak) {
  auto const plan = plan_memory(options(), level(4), {.held_out = 2, .program_bytes = 7});
  std::int64_t sum = 0;
  for (auto const& [what, part] : plan.account) sum += part;
  EXPECT_EQ(sum, plan.bytes);
  EXPECT_THAT(plan.account,
              IsSupersetOf({Key("weights"), Key("optimiser"), Key("activations of 32^3"),
                            Key("activations of 4^3"), Key("program and libraries")}));
}

TEST(PlanMemory, ActivationsOfTheFinestLevel) {
  // Kept by 8 channels: input and two convolutions and the activation between them of the encoder,
  // its result, the join, two and one of the decoder and its result, in bf16; and the stem's input.
  auto o = options();
  o.loss = "supervised";  // its workspace is smaller than any gradient
  auto const account = plan_memory(o, level(4), {}).account;
  std::int64_t const voxels = 4 * 32 * 32 * 32;
  EXPECT_EQ(account.at("activations of 32^3"), 2 * voxels * (1 + 8 * (4 + 1 + 2 + 3 + 1)));
}

TEST(PlanMemory, RecomputingHoldsLess) {
  LevelPlan plan = level(4);
  std::int64_t const all = plan_memory(options(), plan, {}).bytes;
  plan.recompute = true;
  EXPECT_LT(plan_memory(options(), plan, {}).bytes, 0.8 * static_cast<double>(all));
}

TEST(PlanMemory, RecomputesOnlyWhereItIsNeeded) {
  std::int64_t const all = bytes(options(), 4);
  EXPECT_FALSE(needs_recomputing(options(), level(4), {}, all));
  EXPECT_TRUE(needs_recomputing(options(), level(4), {}, all - 1));
}

TEST(PlanMemory, BytesThatARankSends) {
  auto o = options();
  auto const exact = plan_memory(o, level(4), {});
  o.reduction = GradientMode::fast;
  auto const fast = plan_memory(o, level(4), {});
  EXPECT_EQ(exact.gradient_bytes, 2 * fast.gradient_bytes);  // 64 bit integers, 32 bit floats
  EXPECT_EQ(fast.gradient_bytes, 4 * weight_count(o.network));
  // Seven blocks of two normalisations: two sums a channel, forward and backward, 24 bytes each.
  std::int64_t const channels = 2 * (16 + 16 + 8 + 8 + 16 + 8 + 8);
  EXPECT_EQ(exact.statistics_bytes, channels * 2 * 2 * 24);
}

TEST(PlanMemory, UnknownNamesAreRefused) {
  auto o = options();
  o.loss = "guess";
  EXPECT_THAT([&] { plan_memory(o, level(4), {}); },
              ThrowsMessage<Error>(HasSubstr("loss 'guess' is unknown")));
  auto plan = level(4);
  plan.optimizer = "guess";
  EXPECT_THAT([&] { plan_memory(options(), plan, {}); },
              ThrowsMessage<Error>(HasSubstr("optimiser 'guess' is unknown")));
}

}  // namespace
}  // namespace voxcycle
