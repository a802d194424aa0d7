// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/exact_math.hpp"

#include <array>
#include <cmath>
#include <cstdint>

namespace voxcycle {

/// Two independent standard normal numbers from 64 random bits (Box and Muller 1958), the same on
/// every machine; none exceeds 6.8.
inline std::array<double, 2> normal_pair(std::uint64_t bits) {
  constexpr double kTwoPi = 6.283185307179586;
  double const u = (static_cast<double>(bits >> 32) + 0.5) * 0x1.0p-32;
  double const v = (static_cast<double>(bits & 0xffffffffU) + 0.5) * 0x1.0p-32;
  double const radius = std::sqrt(-2.0 * exact_log(u));
  return {radius * exact_cos(kTwoPi * v), radius * exact_sin(kTwoPi * v)};
}

}  // namespace voxcycle
