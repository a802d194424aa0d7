// SPDX-License-Identifier: BSD-3-Clause
// The GPU's fixed-point loops, played on the CPU: the bits of the CPU's.
#include "../../../src/comm/fixed_point_blocks.hpp"

#include "voxcycle/core/random.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "../../../src/comm/fixed_point.hpp"
#include <gtest/gtest.h>

namespace voxcycle::fixed_point {
namespace {

using Order = EmulatedBlock::Order;

/// Both signs, twenty binary orders of magnitude, ties and zeros.
template <class T>
std::vector<T> numbers(std::int64_t count) {
  std::vector<T> x;
  for (std::int64_t k = 0; k < count; ++k) {
    double const size = std::ldexp(hash_uniform({1, static_cast<std::uint64_t>(k)}) - 0.5,
                                   static_cast<int>(k % 20));
    x.push_back(static_cast<T>(k % 7 == 0 ? std::round(2 * size) / 2 : size));
  }
  return x;
}

template <class T>
std::int64_t play_largest(std::vector<T> const& x, Order order) {
  EmulatedBlock block(order);
  std::array<std::int64_t, block_threads> shared{};
  LargestJob<T> job{x.data(), std::ssize(x), largest_chunk, nullptr};
  std::vector<std::int64_t> chunks(static_cast<std::size_t>(job.chunks()), -1);
  job.largest = chunks.data();
  for (std::int64_t i = 0; i < job.chunks(); ++i) largest_block(block, shared.data(), job, i);
  std::int64_t all = -1;
  LargestJob<std::int64_t> const rest{chunks.data(), job.chunks(), job.chunks(), &all};
  largest_block(block, shared.data(), rest, 0);
  return all;
}

template <class T>
void check(Loops<T> const& loops) {
  for (std::int64_t count : {std::int64_t{1}, std::int64_t{1003}, 2 * largest_chunk + 5}) {
    auto x = numbers<T>(count);
    for (auto order : {Order::upwards, Order::downwards}) {
      EXPECT_EQ(play_largest(x, order), loops.largest_pattern(x.data(), count));
    }
    std::vector<std::int64_t> found(x.size(), 5), expected(x.size(), 5);
    std::vector<T> back(x.size()), back_expected(x.size());
    loops.add(x.data(), count, 4.0, expected.data());
    loops.to_floating(expected.data(), count, 0.25, back_expected.data());
    for (std::int64_t i = 0; i < count; ++i) {
      AddJob<T>{x.data(), 4.0, found.data()}(i);
      ToFloatingJob<T>{expected.data(), 0.25, back.data()}(i);
    }
    EXPECT_EQ(found, expected);
    EXPECT_EQ(back, back_expected);

    // What is not finite has the largest pattern of all.
    x.back() = -std::numeric_limits<T>::infinity();
    EXPECT_EQ(play_largest(x, Order::upwards), loops.largest_pattern(x.data(), count));
    x.front() = std::numeric_limits<T>::quiet_NaN();
    EXPECT_EQ(play_largest(x, Order::upwards), loops.largest_pattern(x.data(), count));
  }
}

TEST(FixedPointBlocks, HaveTheBitsOfTheCpu) {
  check(table().f32);
  check(table().f64);
}

}  // namespace
}  // namespace voxcycle::fixed_point
