// SPDX-License-Identifier: BSD-3-Clause
// Dot products as GPUs add them up, played on the CPU.
#include "poisson/operator/dot_blocks.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace voxcycle {
namespace dot_blocks_test {

using Order = EmulatedBlock::Order;

/// The parts of two samples' dot products.
std::vector<double> parts_of(std::vector<float> const& a, std::vector<float> const& b,
                             std::int64_t count, Order order) {
  DotJob<float> job{a.data(), b.data(), nullptr, count};
  std::int64_t const blocks = 2 * job.chunks();
  std::vector<double> parts(static_cast<std::size_t>(blocks), std::nan(""));
  job.partial = parts.data();
  EmulatedBlock block(order);
  std::array<double, block_threads> shared{};
  for (std::int64_t i = 0; i < blocks; ++i) dot_block(block, shared.data(), job, i);
  return parts;
}

// Samples of one chunk that is hardly filled or full, and of one value more.
TEST(DotBlocks, AddUpEachSampleByItself) {
  std::int64_t const minimum = DotJob<float>{nullptr, nullptr, nullptr, 1}.chunk_size();
  for (std::int64_t const count : {std::int64_t{1}, minimum, minimum + 1}) {
    std::vector<float> a, b;
    std::array<double, 2> expected{};
    for (std::int64_t i = 0; i < 2 * count; ++i) {
      a.push_back(static_cast<float>(i % 7 - 2));
      b.push_back(static_cast<float>(i % 5 + 1));
      expected.at(static_cast<std::size_t>(i / count)) +=
          static_cast<double>(a.back()) * static_cast<double>(b.back());
    }
    for (auto order : {Order::upwards, Order::downwards}) {
      auto const parts = parts_of(a, b, count, order);
      ASSERT_EQ(parts.size(), count > minimum ? 4U : 2U);
      std::size_t const half = parts.size() / 2;
      for (std::size_t sample = 0; sample < 2; ++sample) {
        double sum = 0.0;
        for (std::size_t i = 0; i < half; ++i) sum += parts.at(sample * half + i);
        EXPECT_EQ(sum, expected.at(sample));  // whole numbers
      }
    }
  }
}

TEST(DotBlocks, ProductsOfFloatsAreExact) {
  float const a = 1.0F + std::numeric_limits<float>::epsilon();
  std::vector<float> const values{a, a};
  auto const parts = parts_of(values, values, 1, Order::upwards);
  EXPECT_EQ(parts.at(0), static_cast<double>(a) * static_cast<double>(a));
}

// However large, few enough for one block to add up what the blocks found.
TEST(DotBlocks, ChunksAreFew) {
  DotJob<double> const job{nullptr, nullptr, nullptr, std::int64_t{513} * 513 * 513};
  EXPECT_LE(job.chunks(), 4096);
  EXPECT_GE(job.chunks() * job.chunk_size(), job.count);
}

}  // namespace dot_blocks_test
}  // namespace voxcycle
