// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/io/png.hpp"

#include <array>
#include <cstdint>

namespace voxcycle {

/// Colours 0 to 254 of a palette are the map from end to end (127 is its middle), 255 is grey.
inline constexpr int kMaxColor = 254;
inline constexpr int kNoColor = 255;

/// Red, green and blue of each of the 256 palette entries.
std::array<std::uint8_t, 768> palette(ColorMap colors);

}  // namespace voxcycle
