// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/exact_sum.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

constexpr std::int64_t kMostTerms = std::int64_t{1} << 20;
constexpr std::int64_t kNotFinite = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kMagnitude = ~std::uint64_t{0} >> 1;
constexpr std::int64_t kAllZero = std::numeric_limits<std::int64_t>::min();

/// Smallest e with |x| < 2^e.
std::int64_t exponent_above(double x) {
  if (x == 0.0) return kAllZero;
  if (!std::isfinite(x)) return kNotFinite;
  return std::ilogb(x) + 1;
}

/// 2^power as a product of two factors: one alone would overflow for the tiniest columns.
struct PowerOfTwo {
  double first = 0.0;
  double second = 0.0;
};

PowerOfTwo power_of_two(int power) {
  int const first = std::min(power, 1000);
  return {std::ldexp(1.0, first), std::ldexp(1.0, power - first)};
}

/// high * 2^bits + low, rounded once, times 2^exponent.
double assemble(std::int64_t high, std::int64_t low, int bits, std::int64_t exponent) {
  __extension__ using Wide = __int128;
  auto const total = static_cast<Wide>(high) * (Wide{1} << bits) + static_cast<Wide>(low);
  return std::ldexp(static_cast<double>(total), static_cast<int>(exponent));
}

}  // namespace

at::Tensor exact_sum(Communicator const& comm, at::Tensor const& terms, std::int64_t total_terms) {
  VOXCYCLE_REQUIRE(terms.dim() == 2 && terms.scalar_type() == at::kDouble,
                   "exact sum: terms must be [terms, n] of float64.");
  VOXCYCLE_REQUIRE(total_terms >= terms.size(0) && total_terms <= kMostTerms,
                   "exact sum: " << total_terms << " terms (at most " << kMostTerms
                                 << " leave enough bits). Sum in two levels.");
  // A sum of T terms below 2^bits stays below 2^(bits + log2 T) <= 2^62.
  int const bits =
      62 - std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(1, total_terms)));
  std::int64_t const count = terms.size(0);
  std::int64_t const n = terms.size(1);
  at::Tensor const rows = terms.contiguous();
  auto const* x = rows.const_data_ptr<double>();

  // Without its sign, the largest bit pattern of a column is that of its largest magnitude.
  std::vector<std::uint64_t> largest(static_cast<std::size_t>(n), 0);
  for (std::int64_t t = 0; t < count; ++t) {
    for (std::int64_t j = 0; j < n; ++j) {
      auto const pattern = std::bit_cast<std::uint64_t>(x[t * n + j]) & kMagnitude;
      auto& column = largest[static_cast<std::size_t>(j)];
      column = std::max(column, pattern);
    }
  }
  at::Tensor exponents = at::empty({n}, at::kLong);
  auto* exponent = exponents.mutable_data_ptr<std::int64_t>();
  for (std::int64_t j = 0; j < n; ++j) {
    exponent[j] = exponent_above(std::bit_cast<double>(largest[static_cast<std::size_t>(j)]));
  }
  comm.all_reduce(exponents, ReduceOperation::max);

  at::Tensor limbs = at::zeros({2, n}, at::kLong);
  auto* high = limbs.mutable_data_ptr<std::int64_t>();
  auto* low = high + n;
  double const low_scale = std::ldexp(1.0, bits);
  std::vector<PowerOfTwo> scales(static_cast<std::size_t>(n));
  for (std::int64_t j = 0; j < n; ++j) {
    if (exponent[j] == kAllZero || exponent[j] == kNotFinite) continue;  // their limbs are not read
    scales[static_cast<std::size_t>(j)] = power_of_two(bits - static_cast<int>(exponent[j]));
  }
  for (std::int64_t t = 0; t < count; ++t) {
    for (std::int64_t j = 0; j < n; ++j) {
      if (exponent[j] == kNotFinite) continue;
      auto const& scale = scales[static_cast<std::size_t>(j)];
      double const scaled = x[t * n + j] * scale.first * scale.second;
      auto const whole = static_cast<std::int64_t>(scaled);  // towards zero
      high[j] += whole;
      low[j] += std::llrint((scaled - static_cast<double>(whole)) * low_scale);
    }
  }
  comm.all_reduce(limbs, ReduceOperation::sum);

  at::Tensor sums = at::zeros({n}, at::kDouble);
  auto* sum = sums.mutable_data_ptr<double>();
  for (std::int64_t j = 0; j < n; ++j) {
    if (exponent[j] == kNotFinite) {
      sum[j] = std::numeric_limits<double>::quiet_NaN();
    } else if (exponent[j] != kAllZero) {
      sum[j] = assemble(high[j], low[j], bits, exponent[j] - 2 * bits);
      VOXCYCLE_REQUIRE(std::isfinite(sum[j]), "exact sum: the sum exceeds the range of float64.");
    }
  }
  return sums;
}

}  // namespace voxcycle
