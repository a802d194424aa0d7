// SPDX-License-Identifier: BSD-3-Clause
#include "comm/fixed_point.hpp"

#include "voxcycle/core/random.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "../core/variants.hpp"
#include <gtest/gtest.h>

namespace voxcycle {
namespace fixed_point_test {

constexpr std::int64_t kCount = 1003;  // no multiple of a vector

/// Numbers of both signs over twenty binary orders of magnitude, ties and zeros among them.
template <class T>
std::vector<T> numbers() {
  std::vector<T> x;
  for (std::uint64_t k = 0; k < kCount; ++k) {
    double const size = std::ldexp(hash_uniform({1, k}) - 0.5, static_cast<int>(k % 20));
    x.push_back(static_cast<T>(k % 7 == 0 ? std::round(2 * size) / 2 : size));
  }
  return x;
}

template <class T>
void check(fixed_point::Loops<T> const& loops) {
  auto const x = numbers<T>();
  std::vector<std::int64_t> fixed(kCount, 5);
  loops.add(x.data(), kCount, 4.0, fixed.data());
  std::vector<T> back(kCount);
  loops.to_floating(fixed.data(), kCount, 0.25, back.data());
  double largest = 0.0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    // llround goes to nearest, ties away from zero.
    EXPECT_EQ(fixed[k], 5 + std::llround(4.0 * static_cast<double>(x[k]))) << k;
    EXPECT_EQ(back[k], static_cast<T>(0.25 * static_cast<double>(fixed[k]))) << k;
    largest = std::max(largest, std::abs(static_cast<double>(x[k])));
  }
  auto const pattern_of = [](T value) -> std::int64_t {
    if constexpr (sizeof(T) == 4) {
      return std::bit_cast<std::int32_t>(value);
    } else {
      return std::bit_cast<std::int64_t>(value);
    }
  };
  EXPECT_EQ(loops.largest_pattern(x.data(), kCount), pattern_of(static_cast<T>(largest)));
  auto broken = x;
  broken[kCount / 2] = -std::numeric_limits<T>::infinity();
  EXPECT_EQ(loops.largest_pattern(broken.data(), kCount),
            pattern_of(std::numeric_limits<T>::infinity()));
  broken[3] = std::numeric_limits<T>::quiet_NaN();
  EXPECT_GT(loops.largest_pattern(broken.data(), kCount),
            pattern_of(std::numeric_limits<T>::infinity()));
}

TEST(FixedPoint, AllInstructionSetsRoundAlike) {
  for (auto const& [name, table] : testing::variants(
           fixed_point::baseline::table, fixed_point::avx2::table, fixed_point::avx512::table)) {
    SCOPED_TRACE(name);
    check(table.f32);
    check(table.f64);
  }
}

}  // namespace fixed_point_test
}  // namespace voxcycle
