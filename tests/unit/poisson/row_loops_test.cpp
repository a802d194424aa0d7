// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/operator/row_loops.hpp"

#include <array>
#include <vector>

#include "../core/variants.hpp"
#include <gtest/gtest.h>

namespace voxcycle {
namespace row_loops_test {

using testing::numbers;

// No row, one value, whole vectors of every instruction set, and such with a rest.
constexpr std::int64_t lengths[] = {0, 1, 16, 37};

std::vector<testing::Variant<row_loops::Table>> tables() {
  return testing::variants(row_loops::baseline::table, row_loops::avx2::table,
                           row_loops::avx512::table);
}

template <class T>
row_loops::Loops<T> const& loops_of(row_loops::Table const& table) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return table.f32;
  } else {
    return table.f64;
  }
}

template <class T>
class RowLoops : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RowLoops, Types);

TYPED_TEST(RowLoops, SplitAndMergeRows) {
  using T = TypeParam;
  for (auto const& [name, table] : tables()) {
    for (auto const n : lengths) {
      SCOPED_TRACE(::testing::Message() << name << ", " << n);
      auto const row = numbers<T>(2 * n + 1, 1);
      std::vector<T> even(n + 1), odd(n), twice = row;
      loops_of<T>(table).split(row.data(), even.data(), odd.data(), n);
      loops_of<T>(table).merge(twice.data(), even.data(), odd.data(), n);
      for (std::int64_t k = 0; k <= 2 * n; ++k) {
        EXPECT_EQ(k % 2 == 0 ? even[k / 2] : odd[k / 2], row[k]) << k;
        EXPECT_EQ(twice[k], row[k] + row[k]) << k;
      }
    }
  }
}

TYPED_TEST(RowLoops, RoundAsTheirFormulasDo) {
  using T = TypeParam;
  for (auto const& [name, table] : tables()) {
    auto const& loops = loops_of<T>(table);
    for (auto const n : lengths) {
      SCOPED_TRACE(::testing::Message() << name << ", " << n);
      auto const a = numbers<T>(n, 1), b = numbers<T>(n, 2), c = numbers<T>(n, 3);
      auto const before = numbers<T>(n, 4), x_before = numbers<T>(n, 5);
      auto const wide = numbers<double>(n, 6);
      T const first = T(0.7), second = T(-1.3);

      auto product = before, coupled = before, narrowed = before, d = before, x = x_before;
      auto other = before, y = x_before;
      std::vector<double> weighed = wide, widened(n);
      loops.multiply_add(product.data(), a.data(), b.data(), n);
      loops.couple(coupled.data(), a.data(), b.data(), c.data(), n);
      loops.weigh(weighed.data(), wide.data(), a.data(), n);
      loops.widen(widened.data(), a.data(), n);
      loops.narrow(narrowed.data(), wide.data(), n);
      loops.chebyshev(first, second, a.data(), b.data(), c.data(), d.data(), x.data(), n);
      loops.lanczos(first, second, a.data(), b.data(), c.data(), other.data(), y.data(), n);
      for (std::int64_t k = 0; k < n; ++k) {
        EXPECT_EQ(product[k], before[k] + a[k] * b[k]) << k;
        EXPECT_EQ(coupled[k], before[k] + a[k] * (b[k] - c[k])) << k;
        EXPECT_EQ(weighed[k], wide[k] + wide[k] * static_cast<double>(a[k])) << k;
        EXPECT_EQ(widened[k], static_cast<double>(a[k])) << k;
        EXPECT_EQ(narrowed[k], static_cast<T>(wide[k])) << k;
        T const step = first * before[k] + second * (a[k] * (b[k] - c[k]));
        EXPECT_EQ(d[k], step) << k;
        EXPECT_EQ(x[k], x_before[k] + step) << k;
        T const next = a[k] * b[k] - first * c[k] - second * before[k];
        EXPECT_EQ(other[k], next) << k;
        EXPECT_EQ(y[k], a[k] * next) << k;
      }
    }
  }
}

TEST(SetupLoops, RoundAsTheirFormulasDo) {
  for (auto const& [name, table] : tables()) {
    auto const& loops = table.setup;
    for (auto const n : lengths) {
      SCOPED_TRACE(::testing::Message() << name << ", " << n);
      auto const a = numbers<double>(n, 1), b = numbers<double>(n, 2), c = numbers<double>(n, 3);
      auto const before = numbers<double>(n, 4);
      double const minimum = -1.0, maximum = 2.0, otherwise = 77.0;

      auto sum = before, difference = before, quotient = before, replaced = before;
      std::vector<double> sense(n, 1.0);
      if (n > 0) sense[0] = 0.0;  // what made no sense before stays so
      loops.add(sum.data(), a.data(), n);
      loops.subtract(difference.data(), a.data(), n);
      loops.divide(quotient.data(), a.data(), minimum, maximum, sense.data(), n);
      loops.replace(replaced.data(), sense.data(), otherwise, n);
      for (std::int64_t k = 0; k < n; ++k) {
        EXPECT_EQ(sum[k], before[k] + a[k]) << k;
        EXPECT_EQ(difference[k], before[k] - a[k]) << k;
        EXPECT_EQ(quotient[k], before[k] / a[k]) << k;
        bool const good = k > 0 && quotient[k] >= minimum && quotient[k] <= maximum;
        EXPECT_EQ(sense[k], good ? 1.0 : 0.0) << k;
        EXPECT_EQ(replaced[k], good ? before[k] : otherwise) << k;
      }
      for (int const terms : {0, 1, 2, 3}) {
        double const* const factors[] = {a.data(), b.data(), c.data()};
        double const* const others[] = {b.data(), c.data(), a.data()};
        auto out = before;
        loops.congruence(out.data(), c.data(), factors, others, terms, n);
        for (std::int64_t k = 0; k < n; ++k) {
          double even = 0.0, odd = 0.0;
          for (int i = 0; i < terms; ++i) (i % 2 == 0 ? even : odd) += factors[i][k] * others[i][k];
          EXPECT_EQ(out[k], before[k] + c[k] * (even + odd)) << k << ", " << terms << " terms";
        }
      }
    }
  }
}

// The stencil of any node, summed over the 8 x 8 pairs of corners of its voxels; to rounding, for
// the kernel adds up voxels first. Its bits have to be those of the plainest instruction set.
TEST(SetupLoops, VoxelStencilsAreSumsOfElementMatrices) {
  std::array<double, 8> const element{8.0, 0.3, -0.7, -1.1, 0.5, -0.9, -1.3, -1.7};
  for (auto const n : lengths) {
    std::vector<std::vector<double>> nu;
    std::array<double const*, 8> from{};
    for (int v = 0; v < 8; ++v) nu.push_back(numbers<double>(n, 10 + v));
    for (int v = 0; v < 8; ++v) from[v] = nu[v].data();
    std::vector<std::vector<double>> plain;
    for (auto const& [name, table] : tables()) {
      SCOPED_TRACE(::testing::Message() << name << ", " << n);
      std::vector<std::vector<double>> found(27, std::vector<double>(n, -5.0));
      std::array<double*, 27> out{};
      for (int t = 0; t < 27; ++t) out[t] = found[t].data();
      table.setup.voxel_stencil(out.data(), from.data(), element.data(), n);
      if (plain.empty()) plain = found;
      EXPECT_EQ(found, plain);
      for (std::int64_t k = 0; k < n; ++k) {
        std::array<double, 27> expected{};
        for (int v = 0; v < 8; ++v) {
          // The node is the corner 7 - v of its voxel v.
          for (int corner = 0; corner < 8; ++corner) {
            int offset = 0, row = 0;
            for (int bit = 4; bit > 0; bit /= 2) {
              int const step = ((corner & bit) != 0) - (((7 - v) & bit) != 0);
              offset = 3 * offset + step + 1;
              row += step != 0 ? bit : 0;
            }
            expected[offset] += element[row] * nu[v][k];
          }
        }
        for (int t = 0; t < 27; ++t) EXPECT_NEAR(found[t][k], expected[t], 1e-14) << t << ' ' << k;
      }
    }
  }
}

}  // namespace row_loops_test
}  // namespace voxcycle
