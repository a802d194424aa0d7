// SPDX-License-Identifier: BSD-3-Clause
// Compiled once per instruction set; VOXCYCLE_ISA names the namespace.
#include "comm/fixed_point.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace voxcycle::fixed_point::VOXCYCLE_ISA {
namespace {

template <class T, class Bits>
std::int64_t largest_pattern(T const* x, std::int64_t count) {
  Bits largest = 0;
#pragma omp simd reduction(max : largest)
  for (std::int64_t i = 0; i < count; ++i) {
    Bits const pattern = std::bit_cast<Bits>(x[i]) & std::numeric_limits<Bits>::max();
    largest = pattern > largest ? pattern : largest;
  }
  return largest;
}

template <class T>
void add(T const* x, std::int64_t count, double scale, std::int64_t* fixed) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    double const scaled = static_cast<double>(x[i]) * scale;
    fixed[i] += static_cast<std::int64_t>(scaled + std::copysign(0.5, scaled));
  }
}

template <class T>
void to_floating(std::int64_t const* fixed, std::int64_t count, double quantum, T* x) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    x[i] = static_cast<T>(static_cast<double>(fixed[i]) * quantum);
  }
}

template <class T, class Bits>
constexpr Loops<T> loops() {
  return {largest_pattern<T, Bits>, add<T>, to_floating<T>};
}

}  // namespace

Table const& table() {
  static Table const all{loops<float, std::int32_t>(), loops<double, std::int64_t>()};
  return all;
}

}  // namespace voxcycle::fixed_point::VOXCYCLE_ISA
