// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/instruction_set.hpp"

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

/// The kernel (src/field/kernels/row_product.cpp), compiled once per instruction set and chosen at
/// run time. All give the same bits: no fused multiply-add, and each sum in the order of k.
namespace row_product {

struct Table {
  void (*multiply)(RowProduct const& job);
};

VOXCYCLE_KERNEL_TABLES

}  // namespace row_product

/// By the kernel for this processor.
inline void multiply_rows(RowProduct const& job) {
  row_product::table().multiply(job);
}

}  // namespace voxcycle
