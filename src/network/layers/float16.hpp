// SPDX-License-Identifier: BSD-3-Clause
// IEEE float16 as stored, for loops that are compiled for several instruction sets and for GPUs:
// the same operations everywhere, so the same bits.
#pragma once

#include "voxcycle/core/host_device.hpp"

#include <cstdint>

namespace voxcycle::norm_rows {

struct F16 {
  std::uint16_t bits;
};

// Static: what one instruction set's loops inline must not be taken from another's.

/// Exact; subnormal numbers too.
VOXCYCLE_BOTH static inline float load(F16 value) {
  std::uint32_t const magnitude = (value.bits & 0x7fffU) << 13;
  std::uint32_t const sign = (value.bits & 0x8000U) << 16;
  // The exponent's bias is 112 less than float32's.
  float const finite = __builtin_bit_cast(float, magnitude) * 0x1p112F;
  std::uint32_t const bits = magnitude >= 0x0f800000U ? magnitude | 0x7f800000U
                                                      : __builtin_bit_cast(std::uint32_t, finite);
  return __builtin_bit_cast(float, bits | sign);
}

/// Rounded to nearest even; from 65520 on infinite. NaN stays NaN.
VOXCYCLE_BOTH static inline void store(float value, F16* to) {
  auto const all = __builtin_bit_cast(std::uint32_t, value);
  std::uint32_t const bits = all & 0x7fffffffU;
  std::uint32_t const normal = (bits - (112U << 23) + 0xfffU + ((bits >> 13) & 1U)) >> 13;
  // Below 2^-14 float16 counts in units of 2^-24, as float32 does from 1/2 to 1.
  float const shifted = __builtin_bit_cast(float, bits) + 0.5F;
  std::uint32_t const subnormal = __builtin_bit_cast(std::uint32_t, shifted) - 0x3f000000U;
  std::uint32_t const infinite_or_nan = bits > 0x7f800000U ? 0x7e00U : 0x7c00U;
  std::uint32_t const magnitude = bits >= 0x47800000U  ? infinite_or_nan
                                  : bits < 0x38800000U ? subnormal
                                                       : normal;
  to->bits = static_cast<std::uint16_t>(magnitude | (all >> 16 & 0x8000U));
}

}  // namespace voxcycle::norm_rows
