// SPDX-License-Identifier: BSD-3-Clause
#include "field/row_product.hpp"

#include <string>
#include <vector>

#include "../core/variants.hpp"
#include <gtest/gtest.h>

namespace voxcycle {
namespace row_product_test {

struct Size {
  std::int64_t rows;
  std::int64_t inner;
  std::int64_t columns;
};

TEST(RowProduct, EveryVariantHasTheBitsOfThePlainLoop) {
  for (Size const size : {Size{1, 1, 16}, Size{4, 7, 16}, Size{9, 33, 48}, Size{6, 0, 32}}) {
    // Rows lie farther apart than they are long.
    std::int64_t const a_stride = size.inner + 3;
    std::int64_t const stride = size.columns + 5;
    auto const a = testing::numbers(size.rows * a_stride, 1);
    auto const b = testing::numbers((size.inner + 1) * stride, 2);
    std::vector<double> const before(static_cast<std::size_t>(size.rows * stride), -77.0);
    std::vector<double> expected = before;
    for (std::int64_t i = 0; i < size.rows; ++i) {
      for (std::int64_t j = 0; j < size.columns; ++j) {
        double sum = 0.0;
        for (std::int64_t k = 0; k < size.inner; ++k)
          sum += a[i * a_stride + k] * b[k * stride + j];
        expected[i * stride + j] = sum;
      }
    }
    for (auto const& [name, table] : testing::variants(
             row_product::baseline::table, row_product::avx2::table, row_product::avx512::table)) {
      std::vector<double> c = before;
      table.multiply({.a = a.data(),
                      .a_stride = a_stride,
                      .b = b.data(),
                      .b_stride = stride,
                      .c = c.data(),
                      .c_stride = stride,
                      .rows = size.rows,
                      .inner = size.inner,
                      .columns = size.columns});
      EXPECT_EQ(c, expected) << name << ' ' << size.rows << 'x' << size.inner << 'x'
                             << size.columns;
    }
  }
}

TEST(RowProduct, RowsArePaddedToWholeBlocks) {
  EXPECT_EQ(padded_row(1), 16);
  EXPECT_EQ(padded_row(16), 16);
  EXPECT_EQ(padded_row(17), 32);
}

}  // namespace row_product_test
}  // namespace voxcycle
