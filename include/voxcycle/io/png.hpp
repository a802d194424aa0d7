// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace voxcycle {

/// Colours of a picture of a scalar field.
enum class ColorMap {
  sequential,  ///< perceptually even, dark blue to yellow (viridis): solutions, log nu
  diverging,   ///< blue, white, red: errors; white is the middle of the range, so give -a and a
};

/// What the ends of a picture's colours stand for.
struct ColorRange {
  double low = 0.0;
  double high = 0.0;
};

/// @return the least and the largest of the values that are finite, 0 and 1 if none is.
ColorRange range_of_finite(std::span<double const> values);

/// A slice [rows, columns] (row-major, rows downwards) as PNG bytes, each value a block of
/// `scale` x `scale` pixels. Values outside [low, high] are clamped, those not finite are grey; if
/// low = high all have the middle colour. @throws Error on bad sizes or an empty range.
std::string slice_to_png(std::span<double const> values, std::int64_t rows, std::int64_t columns,
                         double low, double high, ColorMap colors, int scale = 4);

/// Standard base64 of bytes: embeds pictures in self-contained pages.
std::string base64(std::string const& bytes);

}  // namespace voxcycle
