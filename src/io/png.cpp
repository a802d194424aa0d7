// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/io/png.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "io/color_map.hpp"
#include <png.h>

namespace voxcycle {
namespace {

constexpr std::int64_t kMaxPixels = 1 << 28;

std::uint8_t color_of(double value, double low, double high) {
  if (!std::isfinite(value)) return kNoColor;
  double const place = high > low ? std::clamp((value - low) / (high - low), 0.0, 1.0) : 0.5;
  return static_cast<std::uint8_t>(std::lround(place * kMaxColor));
}

}  // namespace

ColorRange range_of_finite(std::span<double const> values) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  ColorRange range{infinity, -infinity};
  for (double const value : values) {
    if (!std::isfinite(value)) continue;
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  return range.low <= range.high ? range : ColorRange{0.0, 1.0};
}

std::string slice_to_png(std::span<double const> values, std::int64_t rows, std::int64_t columns,
                         double low, double high, ColorMap colors, int scale) {
  VOXCYCLE_REQUIRE(rows > 0 && columns > 0 && scale > 0 && rows <= kMaxPixels / columns &&
                       rows * columns <= kMaxPixels / scale / scale &&
                       std::ssize(values) == rows * columns,
                   "a picture of " << rows << " x " << columns << " values at scale " << scale
                                   << " from " << values.size() << " values cannot be drawn.");
  VOXCYCLE_REQUIRE(low <= high && std::isfinite(low) && std::isfinite(high),
                   "a picture's range [" << low << ", " << high << "] is empty.");
  std::int64_t const width = columns * scale;
  std::vector<std::uint8_t> pixels;
  pixels.reserve(static_cast<std::size_t>(rows * scale * width));
  for (std::int64_t row = 0; row < rows * scale; ++row) {
    auto const line = values.subspan(static_cast<std::size_t>(row / scale * columns),
                                     static_cast<std::size_t>(columns));
    for (double value : line) {
      pixels.insert(pixels.end(), static_cast<std::size_t>(scale), color_of(value, low, high));
    }
  }

  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(rows * scale);
  image.format = PNG_FORMAT_RGB_COLORMAP;
  image.colormap_entries = 256;
  auto const map = palette(colors);
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string bytes(size, '\0');
  int const done = png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(),
                                             static_cast<png_int_32>(width), map.data());
  VOXCYCLE_REQUIRE(done != 0, "cannot draw a picture (libpng: " << image.message << ").");
  bytes.resize(size);
  return bytes;
}

std::string base64(std::string const& bytes) {
  constexpr char const* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t start = 0; start < bytes.size(); start += 3) {
    std::size_t const count = std::min<std::size_t>(3, bytes.size() - start);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = (group << 8) | (k < count ? static_cast<unsigned char>(bytes[start + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= count ? kDigits[(group >> (18 - 6 * k)) & 63] : '=';
    }
  }
  return text;
}

}  // namespace voxcycle
