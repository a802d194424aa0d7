// SPDX-License-Identifier: BSD-3-Clause
// The three steps of an exact sum (comm/exact_sum.hpp) between the reductions over ranks, column by
// column: loops on the CPU, kernels on a GPU (core/element_job.hpp), with the same bits.
#pragma once

#include "voxcycle/core/element_job.hpp"

#include <cmath>
#include <cstdint>

namespace voxcycle::exact_columns {

/// Exponents of columns without a number in them, below and above all others.
constexpr std::int64_t all_zero = INT64_MIN;
constexpr std::int64_t not_finite = INT64_MAX;

/// [count, columns], the terms of this rank.
struct Terms {
  double const* values;
  std::int64_t count, columns;

  VOXCYCLE_BOTH double operator()(std::int64_t term, std::int64_t column) const {
    return values[term * columns + column];
  }
};

/// 2^power for -1074 < power < 1200, as two factors: one alone would overflow for tiny columns.
struct PowerOfTwo {
  double first, second;

  VOXCYCLE_BOTH explicit PowerOfTwo(int power)
      : first(std::ldexp(1.0, power < 1000 ? power : 1000)),
        second(std::ldexp(1.0, power < 1000 ? 0 : power - 1000)) {}
};

/// The smallest e with |x| < 2^e for all terms of a column, or one of the two above.
struct ExponentJob {
  Terms terms;
  std::int64_t* exponent;  ///< [columns]

  VOXCYCLE_BOTH void operator()(std::int64_t column) const {
    // Without its sign, the largest bit pattern is that of the largest magnitude, or of no number.
    std::int64_t largest = 0;
    for (std::int64_t t = 0; t < terms.count; ++t) {
      std::int64_t const pattern = __builtin_bit_cast(std::int64_t, terms(t, column)) & INT64_MAX;
      if (pattern > largest) largest = pattern;
    }
    auto const magnitude = __builtin_bit_cast(double, largest);
    exponent[column] = largest == 0               ? all_zero
                       : std::isfinite(magnitude) ? std::ilogb(magnitude) + 1
                                                  : not_finite;
  }
};

/// The terms of a column as integers, in units of 2^(exponent - bits) and what that leaves in units
/// of 2^(exponent - 2 bits), each summed.
struct LimbJob {
  Terms terms;
  std::int64_t const* exponent;  ///< [columns], the largest of all ranks
  int bits;                      ///< of a term
  std::int64_t* limbs;           ///< [2, columns]: high, low

  VOXCYCLE_BOTH void operator()(std::int64_t column) const {
    std::int64_t high = 0, low = 0;
    if (exponent[column] != all_zero && exponent[column] != not_finite) {
      PowerOfTwo const scale(bits - static_cast<int>(exponent[column]));
      double const low_scale = std::ldexp(1.0, bits);
      for (std::int64_t t = 0; t < terms.count; ++t) {
        double const scaled = terms(t, column) * scale.first * scale.second;
        auto const whole = static_cast<std::int64_t>(scaled);  // towards zero
        high += whole;
        low += std::llrint((scaled - static_cast<double>(whole)) * low_scale);
      }
    }
    limbs[column] = high;
    limbs[terms.columns + column] = low;
  }
};

/// The sum of a column, rounded once: NaN if a term is not finite.
struct SumJob {
  std::int64_t const* exponent;
  std::int64_t const* limbs;  ///< [2, columns], the sums of all ranks
  std::int64_t columns;
  int bits;
  double* sums;  ///< [columns]

  VOXCYCLE_BOTH void operator()(std::int64_t column) const {
    if (exponent[column] == all_zero || exponent[column] == not_finite) {
      sums[column] = exponent[column] == all_zero ? 0.0 : __builtin_nan("");
      return;
    }
    __extension__ using Wide = __int128;
    Wide const total =
        static_cast<Wide>(limbs[column]) * (Wide{1} << bits) + limbs[columns + column];
    sums[column] =
        std::ldexp(static_cast<double>(total), static_cast<int>(exponent[column]) - 2 * bits);
  }
};

using Jobs = std::tuple<ExponentJob, LimbJob, SumJob>;

}  // namespace voxcycle::exact_columns
