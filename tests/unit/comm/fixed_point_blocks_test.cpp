// SPDX-License-Identifier: BSD-3-Clause
// The GPU's fixed-point loops, played on the CPU: the bits of the CPU's.
#include "comm/fixed_point_blocks.hpp"

#include "voxcycle/core/random.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "comm/fixed_point.hpp"
#include <gtest/gtest.h>

namespace voxcycle::fixed_point {
namespace fixed_point_blocks_test {

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

/// Three arrays of sizes in `sizes` in rows of two micro-batches each, the middle one of one
/// micro-batch.
template <class T>
struct Arrays {
  explicit Arrays(std::array<std::int64_t, 3> const& sizes_in) : sizes(sizes_in) {
    std::int64_t end = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      begins[k] = row_size + 3;  // gaps between them
      row_size = begins[k] + sizes[k];
      end += sizes[k];
      table[k] = end;
      table[3 + k] = begins[k];
      table[6 + k] = k == 1 ? 1 : 2;
      table[9 + k] = exponents[k];
    }
    rows = numbers<T>(2 * row_size);
  }

  Segments segments() const { return {table.data(), 3, row_size}; }
  T* values(std::size_t array, std::int64_t micro_batch) {
    return rows.data() + micro_batch * row_size + begins[array];
  }

  static constexpr std::array<int, 3> exponents{-2, -40, 3};
  std::array<std::int64_t, 3> sizes, begins{};
  std::array<std::int64_t, 12> table{};
  std::int64_t row_size = 0;
  std::vector<T> rows;
};

template <class T>
std::vector<std::int64_t> play_largest(Arrays<T> const& arrays, Order order) {
  EmulatedBlock block(order);
  std::array<std::int64_t, block_threads> shared{};
  std::vector<std::int64_t> largest(3, -1);
  LargestJob<T> const job{arrays.segments(), arrays.rows.data(), largest.data()};
  for (std::int64_t array = 0; array < 3; ++array) largest_block(block, shared.data(), job, array);
  return largest;
}

template <class T>
std::vector<std::int64_t> expected_largest(Arrays<T>& arrays, Loops<T> const& loops) {
  std::vector<std::int64_t> largest;
  for (std::size_t k = 0; k < 3; ++k) {
    largest.push_back(loops.largest_pattern(arrays.values(k, 0), arrays.sizes[k]));
    if (k == 1) continue;
    largest.back() =
        std::max(largest.back(), loops.largest_pattern(arrays.values(k, 1), arrays.sizes[k]));
  }
  return largest;
}

template <class T>
void check(Loops<T> const& loops) {
  for (std::array<std::int64_t, 3> const& sizes :
       {std::array<std::int64_t, 3>{1, 1, 1}, {1003, 7, 256}, {5, 3000, 2}}) {
    Arrays<T> arrays(sizes);
    auto const expected = expected_largest(arrays, loops);
    for (auto order : {Order::upwards, Order::downwards}) {
      EXPECT_EQ(play_largest(arrays, order), expected);
    }

    std::int64_t const size = arrays.table[2];
    std::vector<std::int64_t> found(static_cast<std::size_t>(size), 77), sums;
    std::vector<T> back(found.size()), back_expected;
    for (std::size_t k = 0; k < 3; ++k) {
      std::vector<std::int64_t> sum(static_cast<std::size_t>(sizes[k]), 0);
      std::vector<T> x(sum.size());
      for (std::int64_t micro_batch = 0; micro_batch < arrays.table[6 + k]; ++micro_batch) {
        loops.add(arrays.values(k, micro_batch), sizes[k], std::ldexp(1.0, -arrays.exponents[k]),
                  sum.data());
      }
      loops.to_floating(sum.data(), sizes[k], std::ldexp(1.0, arrays.exponents[k]), x.data());
      sums.insert(sums.end(), sum.begin(), sum.end());
      back_expected.insert(back_expected.end(), x.begin(), x.end());
    }
    for (std::int64_t i = 0; i < size; ++i) {
      SumJob<T>{arrays.segments(), arrays.rows.data(), found.data()}(i);
      ToFloatingJob<T>{arrays.segments(), sums.data(), back.data()}(i);
    }
    EXPECT_EQ(found, sums);
    EXPECT_EQ(back, back_expected);

    // What is not finite has the largest pattern of all.
    *arrays.values(2, 1) = -std::numeric_limits<T>::infinity();
    EXPECT_EQ(play_largest(arrays, Order::upwards), expected_largest(arrays, loops));
    arrays.values(0, 0)[sizes[0] - 1] = std::numeric_limits<T>::quiet_NaN();
    EXPECT_EQ(play_largest(arrays, Order::upwards), expected_largest(arrays, loops));
  }
}

TEST(FixedPointBlocks, HaveTheBitsOfTheCpu) {
  check(table().f32);
  check(table().f64);
}

}  // namespace fixed_point_blocks_test
}  // namespace voxcycle::fixed_point
