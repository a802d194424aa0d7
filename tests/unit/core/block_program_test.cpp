// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/block_program.hpp"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace voxcycle {
namespace block_program_test {

using Order = EmulatedBlock::Order;

/// Each thread gives its number to the next one; @return what the threads got.
std::vector<int> shift(Order order, bool with_barrier) {
  EmulatedBlock block(order);
  std::vector<int> shared(block_threads, -1), got(block_threads, -1);
  EmulatedBlock::Private<int> own;
  block.each([&](int thread) { own[thread] = shared[thread] = thread; });
  if (with_barrier) block.sync();
  block.each([&](int thread) { got[thread] = shared[(thread + 1) % block_threads] - own[thread]; });
  block.sync();
  return got;
}

TEST(EmulatedBlock, BarriersMakeOthersWorkVisible) {
  std::vector<int> expected(block_threads, 1);
  expected.back() = 1 - block_threads;
  EXPECT_EQ(shift(Order::upwards, true), expected);
  EXPECT_EQ(shift(Order::downwards, true), expected);
}

TEST(EmulatedBlock, AMissingBarrierShowsInOneOfTheOrders) {
  std::vector<int> expected(block_threads, 1);
  expected.back() = 1 - block_threads;
  EXPECT_NE(shift(Order::upwards, false), expected);
}

TEST(EmulatedBlock, SumOverBlockAddsAll) {
  for (auto order : {Order::upwards, Order::downwards}) {
    EmulatedBlock block(order);
    std::array<double, block_threads> shared{};
    block.each([&](int thread) { shared[static_cast<std::size_t>(thread)] = thread + 1.0; });
    sum_over_block(block, shared.data());
    EXPECT_EQ(shared[0], block_threads * (block_threads + 1) / 2.0);
  }
}

TEST(EmulatedBlock, RowsOfAnyLengthAreSummed) {
  for (std::int64_t count : {1, 255, 256, 1000}) {
    std::vector<double> values(static_cast<std::size_t>(3 * count), 1e9);
    for (std::int64_t i = 0; i < count; ++i) values[static_cast<std::size_t>(count + i)] = i;
    for (auto order : {Order::upwards, Order::downwards}) {
      EmulatedBlock block(order);
      std::array<double, block_threads> shared{};
      std::array<double, 3> sums{};
      sum_row_block(block, shared.data(), values.data(), count, sums.data(), 1);
      EXPECT_EQ(sums[1], count * (count - 1) / 2.0);
      EXPECT_EQ(sums[0] + sums[2], 0.0);
    }
  }
}

}  // namespace block_program_test
}  // namespace voxcycle
