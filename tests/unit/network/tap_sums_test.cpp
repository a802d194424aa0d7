// SPDX-License-Identifier: BSD-3-Clause
#include "network/layers/tap_sums.hpp"

#include <vector>

#include "../core/variants.hpp"
#include <gtest/gtest.h>

namespace voxcycle {
namespace tap_sums_test {

std::vector<float> floats(std::int64_t count, std::uint64_t seed) {
  auto const wide = testing::numbers(count, seed);
  return {wide.begin(), wide.end()};
}

// Their values are coarse_gradients_test's.
TEST(TapSums, AllInstructionSetsGiveTheSameBits) {
  auto const tables =
      testing::variants(tap_sums::baseline::table, tap_sums::avx2::table, tap_sums::avx512::table);
  for (std::int64_t const a : {1, 16, 23}) {
    for (std::int64_t const b : {16, 48, 5}) {
      if (a % tap_sums::kLanes != 0 && b % tap_sums::kLanes != 0) continue;
      constexpr std::int64_t samples = 2, voxels = 3 * 4 * 5, taps = 27;
      auto const of_a = floats(samples * voxels * a, 1), of_b = floats(samples * voxels * b, 2);
      tap_sums::Sums const of{
          {of_a.data(), {3, 4, 5}, a}, {of_b.data(), {3, 4, 5}, b}, samples, 3, 1, {1, 1, 1}};
      auto const sums_of = [&](tap_sums::Table const& table) {
        std::vector<float> sums(static_cast<std::size_t>(a * taps * b));
        for (std::int64_t tap = 0; tap < taps; ++tap) table.of_tap(of, tap, sums.data());
        return sums;
      };
      auto const plain = sums_of(tables.front().table);
      for (auto const& [name, table] : tables) EXPECT_EQ(sums_of(table), plain) << name;
    }
  }
}

}  // namespace tap_sums_test
}  // namespace voxcycle
