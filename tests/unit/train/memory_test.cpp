// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/memory.hpp"

#include "voxcycle/core/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace memory_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TrainOptions options() {
  TrainOptions o;
  o.network.channels = {{4, 16}, {8, 16}, {16, 8}, {32, 8}};
  o.network.coarse = CoarseLevels::averaged;
  o.network.correction_scale = 4.0;
  o.micro_batch_size = 1;
  return o;
}

LevelPlan level(std::int64_t batch) {
  return {.grid = Grid3::cube(32), .batch = batch, .optimizer = "adam"};
}

std::int64_t bytes(TrainOptions const& o, std::int64_t batch, MemoryOptions const& memory = {}) {
  return predict_memory(o, level(batch), memory).bytes;
}

TEST(PredictMemory, GrowsLinearlyWithTheBatch) {
  // From some size on the loss works on one micro-batch at a time; all else is a sample's share and
  // a fixed part.
  std::int64_t const one = bytes(options(), 12);
  std::int64_t const two = bytes(options(), 16);
  std::int64_t const three = bytes(options(), 20);
  EXPECT_EQ(three - two, two - one);
  EXPECT_GT(two, one);
}

TEST(PredictMemory, RanksShareTheBatchButNotTheWeights) {
  EXPECT_EQ(bytes(options(), 8, {.ranks = 2}), bytes(options(), 4));
  // Of five micro-batches on two ranks one has three.
  EXPECT_EQ(bytes(options(), 5, {.ranks = 2}), bytes(options(), 3));
  // Ranks without a micro-batch do not matter.
  EXPECT_EQ(bytes(options(), 2, {.ranks = 7}), bytes(options(), 1));
}

TEST(PredictMemory, AddsWhatItIsToldOf) {
  std::int64_t const bare = bytes(options(), 4);
  EXPECT_EQ(bytes(options(), 4, {.program_bytes = 1000}), bare + 1000);
  // nu of four samples, float32.
  EXPECT_EQ(bytes(options(), 4, {.batches_ahead = 3}), bare + 3 * 4 * 4 * 32 * 32 * 32);
  // Held-out samples: nu in float32 and u in float64.
  EXPECT_EQ(bytes(options(), 4, {.held_out = 10}) - bytes(options(), 4, {.held_out = 9}),
            4 * 32 * 32 * 32 + 8 * 33 * 33 * 33);
}

TEST(PredictMemory, RecomputingHoldsLess) {
  LevelPlan plan = level(4);
  std::int64_t const all = predict_memory(options(), plan, {}).bytes;
  plan.recompute = true;
  EXPECT_LT(predict_memory(options(), plan, {}).bytes, 0.8 * static_cast<double>(all));
}

TEST(PredictMemory, RecomputesOnlyWhereItIsNeeded) {
  std::int64_t const all = bytes(options(), 4);
  EXPECT_FALSE(needs_recomputing(options(), level(4), {}, all));
  EXPECT_TRUE(needs_recomputing(options(), level(4), {}, all - 1));
}

TEST(PredictMemory, BytesThatARankSends) {
  auto o = options();
  auto const exact = predict_memory(o, level(4), {});
  o.reduction = GradientMode::fast;
  auto const fast = predict_memory(o, level(4), {});
  auto const network = make_network(o.network, o.boundary, o.source);
  std::int64_t parameters = 0, of_convolutions = 0;
  for (auto const& [name, parameter] : network->named_parameters()) {
    if (name.ends_with("gamma") || name.ends_with("beta")) continue;
    ++parameters;
    of_convolutions += parameter.numel();
  }
  // 64 bit integers, and an exponent a parameter, or 32 bit floats; normalisations sum their own.
  EXPECT_EQ(exact.gradient_sums.bytes, 8 * of_convolutions + 8 * parameters);
  EXPECT_EQ(fast.gradient_sums.bytes, 4 * of_convolutions);
  // Seven blocks of two normalisations: two sums a channel, forward and backward, 24 bytes each.
  std::int64_t const channels = 2 * (16 + 16 + 8 + 8 + 16 + 8 + 8);
  EXPECT_EQ(exact.statistics_sums.bytes, channels * 2 * 2 * 24 + 24);  // and the loss
}

TEST(PredictMemory, UnknownNamesAreRefused) {
  auto o = options();
  o.loss = "guess";
  EXPECT_THAT([&] { predict_memory(o, level(4), {}); },
              ThrowsMessage<Error>(HasSubstr("loss 'guess' is unknown")));
  auto plan = level(4);
  plan.optimizer = "guess";
  EXPECT_THAT([&] { predict_memory(options(), plan, {}); },
              ThrowsMessage<Error>(HasSubstr("optimiser 'guess' is unknown")));
}

}  // namespace memory_test
}  // namespace voxcycle
