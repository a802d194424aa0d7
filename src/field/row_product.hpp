// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace voxcycle {

/// Rows of doubles are padded to a multiple of this many.
constexpr std::int64_t row_padding = 16;
constexpr std::int64_t padded_row(std::int64_t columns) {
  return (columns + row_padding - 1) / row_padding * row_padding;
}

/// c = a b for small dense matrices by rows: c[i][j] = sum_k a[i][k] b[k][j], k from 0 upwards.
struct RowProduct {
  double const* a;        ///< [rows, inner]
  std::int64_t a_stride;  ///< from one row to the next
  double const* b;        ///< [inner, columns]
  std::int64_t b_stride;
  double* c;  ///< [rows, columns], overwritten
  std::int64_t c_stride;
  std::int64_t rows;
  std::int64_t inner;
  std::int64_t columns;  ///< a multiple of row_padding
};

/// All variants give the same bits: no fused multiply-add, and each sum in the order of k.
namespace baseline {
void multiply_rows(RowProduct const& job);
}  // namespace baseline
namespace avx2 {
void multiply_rows(RowProduct const& job);
}  // namespace avx2
namespace avx512 {
void multiply_rows(RowProduct const& job);
}  // namespace avx512

/// The kernel compiled for one instruction set.
struct RowProductVariant {
  char const* name;
  bool supported;  ///< by this machine
  void (*run)(RowProduct const&);
};

constexpr std::size_t row_product_variant_count = 3;
/// All variants, widest first; the last is always supported.
RowProductVariant const* row_product_variants();

/// Runs the widest variant that this machine supports.
void multiply_rows(RowProduct const& job);

}  // namespace voxcycle
