// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/exact_math.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace voxcycle {
namespace {

// x + kShift rounds x to the nearest integer, which then stands in the low bits of the sum.
constexpr double kShift = 0x1.8p52;

std::uint64_t low_bits(double shifted) {
  return std::bit_cast<std::uint64_t>(shifted);
}

/// 2^k for a k given as k + kShift, |k| <= 1022.
double power_of_two(double shifted) {
  return std::bit_cast<double>((low_bits(shifted) + 1023) << 52);
}

/// c[0] + c[1] x + c[2] x^2 + ... by Horner's rule.
template <std::size_t N>
double polynomial(double const (&c)[N], double x) {
  double sum = c[N - 1];
  for (std::size_t k = N - 1; k-- > 0;) sum = sum * x + c[k];
  return sum;
}

// Taylor coefficients. With |r| <= ln 2 / 2 the first term left out of exp is below 5e-18; with
// |r| <= pi/4 those left out of sin and cos are below 1e-19 and 3e-18.
constexpr double kExp[] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                           1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                           1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
constexpr double kSin[] = {
    -1.0 / 6,        1.0 / 120,        -1.0 / 5040,          1.0 / 362880,
    -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000};
constexpr double kCos[] = {1.0 / 24,        -1.0 / 720,         1.0 / 40320,         -1.0 / 3628800,
                           1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000};

// log((1 + f) / (1 - f)) = 2 f + f (kLog[0] f^2 + kLog[1] f^4 + ...); with f^2 <= 0.0295 the first
// term left out is below 1e-19.
constexpr double kLog[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11,
                           2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21};

/// Beyond it exp is infinity or 0 anyway.
constexpr double kWide = 760.0;

// ln 2 in two parts (fdlibm); the first has 33 bits, so that a power of two times it is exact.
constexpr double kLn2High = 6.93147180369123816490e-01;
constexpr double kLn2Low = 1.90821492927058770002e-10;

/// exp for |x| <= kWide.
inline double exp_within(double x) {
  constexpr double kLog2E = 0x1.71547652b82fep0;
  double const k = (x * kLog2E + kShift) - kShift;
  double const r = (x - k * kLn2High) - k * kLn2Low;
  double const e = 1.0 + (r + r * r * polynomial(kExp, r));
  // Two factors, since 2^k itself may lie outside the range of double.
  double const half = k * 0.5 + kShift;
  double const rest = (k - (half - kShift)) + kShift;
  return e * power_of_two(half) * power_of_two(rest);
}

double sin_near_zero(double r) {
  double const square = r * r;
  return r + r * square * polynomial(kSin, square);
}

double cos_near_zero(double r) {
  double const square = r * r;
  return 1.0 - (0.5 * square - square * square * polynomial(kCos, square));
}

/// sin(x + quarter * pi/2).
double sin_shifted(double x, std::uint64_t quarter) {
  // pi/2 in three parts (fdlibm); the first two have 33 bits.
  constexpr double kHalfPi1 = 1.57079632673412561417e+00;
  constexpr double kHalfPi2 = 6.07710050630396597660e-11;
  constexpr double kHalfPi3 = 2.02226624879595063154e-21;
  constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  double const shifted = x * kTwoOverPi + kShift;
  double const k = shifted - kShift;
  double const r = ((x - k * kHalfPi1) - k * kHalfPi2) - k * kHalfPi3;
  quarter += low_bits(shifted);
  double const value = (quarter & 1) == 0 ? sin_near_zero(r) : cos_near_zero(r);
  return (quarter & 2) == 0 ? value : -value;
}

}  // namespace

double exact_exp(double x) {
  return exp_within(std::max(std::min(x, kWide), -kWide));  // in this order a NaN stays one
}

double exact_log(double x) {
  constexpr std::uint64_t kHalfRootTwo = 0x3fe6a09e667f3bcdULL;  // bits of sqrt(1/2)
  // x = 2^k m with m in [sqrt(1/2), sqrt(2)).
  auto const bits = std::bit_cast<std::uint64_t>(x);
  std::uint64_t const shifted = bits - kHalfRootTwo + (std::uint64_t{1023} << 52);
  double const k = static_cast<double>(static_cast<std::int64_t>(shifted >> 52) - 1023);
  double const m = std::bit_cast<double>((shifted & 0xfffffffffffffULL) + kHalfRootTwo);
  double const f = (m - 1.0) / (m + 1.0);
  double const square = f * f;
  double const small = f * square * polynomial(kLog, square) + k * kLn2Low;
  return k * kLn2High + (2.0 * f + small);
}

double exact_sin(double x) {
  return sin_shifted(x, 0);
}

double exact_cos(double x) {
  return sin_shifted(x, 1);
}

void exact_exp(std::span<double> values) {
  // Comparisons would keep the compiler from vectorising the loop itself.
  bool within = true;
  for (double value : values) within = within && std::abs(value) <= kWide;
  if (within) {
    for (double& value : values) value = exp_within(value);
  } else {
    for (double& value : values) value = exact_exp(value);
  }
}

}  // namespace voxcycle
