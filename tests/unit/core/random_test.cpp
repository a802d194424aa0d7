// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/random.hpp"

#include <bit>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

namespace voxcycle {
namespace random_test {

TEST(Random, IsSplitMix64ChainedOverTheCoordinates) {
  // Worked out with Python's integers: state = golden; for each coordinate c:
  // state = finaliser((state ^ c) + golden), the finaliser of SplitMix64.
  EXPECT_EQ(hash_bits({}), 0x9e3779b97f4a7c15U);
  EXPECT_EQ(hash_bits({0}), 0x6e789e6aa1b965f4U);
  EXPECT_EQ(hash_bits({1, 2, 3}), 0x48cf5028b6df10dbU);
  EXPECT_EQ(hash_bits({0xffffffffffffffffU}), 0xb4d055fcf2cbbd7bU);
}

TEST(Random, OrderAndNumberOfCoordinatesMatter) {
  std::set<std::uint64_t> const values = {hash_bits({1, 2}), hash_bits({2, 1}), hash_bits({1}),
                                          hash_bits({1, 2, 0}), hash_bits({0, 1, 2})};
  EXPECT_EQ(values.size(), 5U);
}

TEST(Random, OneBitOfACoordinateChangesHalfOfTheBits) {
  // 64 x 3 x 64 bits: the mean of each trial has a deviation of 4 bits, the mean of all of 0.3.
  double flipped = 0.0;
  for (int bit = 0; bit < 64; ++bit) {
    std::uint64_t const flip = std::uint64_t{1} << bit;
    for (auto const value :
         {hash_bits({7 ^ flip, 8, 9}), hash_bits({7, 8 ^ flip, 9}), hash_bits({7, 8, 9 ^ flip})}) {
      flipped += std::popcount(value ^ hash_bits({7, 8, 9})) / 192.0;
    }
  }
  EXPECT_NEAR(flipped, 32.0, 5 * 0.3);
}

TEST(Random, UniformNumbersAreUniform) {
  constexpr int kCount = 100000;
  double sum = 0.0;
  double squares = 0.0;
  for (std::uint64_t k = 0; k < kCount; ++k) {
    double const x = hash_uniform({5, k});
    ASSERT_TRUE(x >= 0.0 && x < 1.0);
    sum += x;
    squares += x * x;
  }
  // Five standard deviations of the means of x (1/2, variance 1/12) and x^2 (1/3, variance 4/45).
  EXPECT_NEAR(sum / kCount, 0.5, 5 * std::sqrt(1.0 / 12 / kCount));
  EXPECT_NEAR(squares / kCount, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / kCount));
}

}  // namespace random_test
}  // namespace voxcycle
