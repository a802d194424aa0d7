// SPDX-License-Identifier: BSD-3-Clause
// Compiled once per instruction set; VOXCYCLE_ISA names the namespace.
#include "field/row_product.hpp"

namespace voxcycle::row_product::VOXCYCLE_ISA {
namespace {

/// Numbers in a vector register.
#if defined(__AVX512F__)
constexpr int kLanes = 8;
#elif defined(__AVX2__)
constexpr int kLanes = 4;
#else
constexpr int kLanes = 2;
#endif
// The sums of one block stay in registers: eight, as an addition takes four cycles and two begin
// in each.
constexpr int kRows = 4;
constexpr int kVectors = 2;
constexpr int kColumns = kVectors * kLanes;
static_assert(row_padding % kColumns == 0);

using Vector = double __attribute__((vector_size(kLanes * sizeof(double))));

/// Columns [j, j + kColumns) of rows [i, i + Rows).
template <int Rows>
inline void block(RowProduct const& job, std::int64_t i, std::int64_t j) {
  Vector sum[Rows][kVectors] = {};
  double const* a = job.a + i * job.a_stride;
  double const* b = job.b + j;
  for (std::int64_t k = 0; k < job.inner; ++k, ++a, b += job.b_stride) {
    Vector row[kVectors];
    __builtin_memcpy(row, b, sizeof(row));
    for (int r = 0; r < Rows; ++r) {
      double const factor = a[r * job.a_stride];
      for (int v = 0; v < kVectors; ++v) sum[r][v] += factor * row[v];
    }
  }
  for (int r = 0; r < Rows; ++r) {
    __builtin_memcpy(job.c + (i + r) * job.c_stride + j, sum[r], sizeof(sum[r]));
  }
}

void multiply(RowProduct const& job) {
  for (std::int64_t j = 0; j < job.columns; j += kColumns) {
    std::int64_t i = 0;
    for (; i + kRows <= job.rows; i += kRows) block<kRows>(job, i, j);
    for (; i < job.rows; ++i) block<1>(job, i, j);
  }
}

}  // namespace

Table const& table() {
  static constexpr Table result{multiply};
  return result;
}

}  // namespace voxcycle::row_product::VOXCYCLE_ISA
