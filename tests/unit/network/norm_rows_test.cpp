// SPDX-License-Identifier: BSD-3-Clause
#include "network/layers/norm_rows.hpp"

#include <bit>
#include <vector>

#include "../core/variants.hpp"
#include <gtest/gtest.h>

namespace voxcycle {
namespace norm_rows_test {

template <class T>
T stored(double value) {
  if constexpr (sizeof(T) == 2) {
    return {
        static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16)};
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
std::vector<T> numbers(std::int64_t count, std::uint64_t seed) {
  std::vector<T> values;
  for (double const value : testing::numbers(count, seed)) values.push_back(stored<T>(value));
  return values;
}

template <class T>
std::vector<unsigned char> bytes(std::vector<T> const& values) {
  auto const* first = reinterpret_cast<unsigned char const*>(values.data());
  return {first, first + values.size() * sizeof(T)};
}

/// The bytes of all that the loops make, one after another.
template <class T, class Compute>
std::vector<std::vector<unsigned char>> results(norm_rows::Loops<T, Compute> const& loops,
                                                std::int64_t rows, std::int64_t channels) {
  auto const x = numbers<T>(rows * channels, 1), dy = numbers<T>(rows * channels, 2);
  auto const a = numbers<Compute>(channels, 3), b = numbers<Compute>(channels, 4);
  auto const p = numbers<Compute>(channels, 5), q = numbers<Compute>(channels, 6);
  Compute const leak = Compute(0.01);
  std::vector<double> sums(2 * channels), backward_sums(2 * channels);
  std::vector<T> y(rows * channels), dx(rows * channels);
  loops.moments(x.data(), rows, channels, sums.data());
  loops.forward(x.data(), rows, channels, a.data(), b.data(), leak, y.data());
  loops.backward_moments(dy.data(), x.data(), rows, channels, a.data(), b.data(), p.data(), leak,
                         backward_sums.data());
  loops.backward(dy.data(), x.data(), rows, channels, a.data(), b.data(), p.data(), q.data(), leak,
                 dx.data());
  return {bytes(sums), bytes(y), bytes(backward_sums), bytes(dx)};
}

// Their values are norm_act_test's and norm_blocks_test's.
TEST(NormRows, AllInstructionSetsGiveTheSameBits) {
  auto const tables = testing::variants(norm_rows::baseline::table, norm_rows::avx2::table,
                                        norm_rows::avx512::table);
  auto const& plain = tables.front().table;
  for (auto const& [name, table] : tables) {
    for (std::int64_t const channels : {1, 3, 8, 12, 64, 300}) {
      for (std::int64_t const rows : {0, 1, 37, 5000}) {
        SCOPED_TRACE(::testing::Message() << name << ", " << rows << " x " << channels);
        EXPECT_EQ(results(table.bf16, rows, channels), results(plain.bf16, rows, channels));
        EXPECT_EQ(results(table.f32, rows, channels), results(plain.f32, rows, channels));
        EXPECT_EQ(results(table.f64, rows, channels), results(plain.f64, rows, channels));
      }
    }
  }
}

}  // namespace norm_rows_test
}  // namespace voxcycle
