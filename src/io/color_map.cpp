// SPDX-License-Identifier: BSD-3-Clause
#include "io/color_map.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace voxcycle {
namespace {

/// Viridis (van der Walt and Smith 2015; CC0) at 17 equidistant places.
constexpr std::uint32_t kSequential[] = {0x440154, 0x48186a, 0x472d7b, 0x424086, 0x3b528b, 0x33638d,
                                         0x2c728e, 0x26828e, 0x21918c, 0x1fa088, 0x28ae80, 0x3fbc73,
                                         0x5ec962, 0x84d44b, 0xaddc30, 0xd8e219, 0xfde725};
/// RdBu of ColorBrewer (Brewer and Harrower; Apache 2.0), from blue to red.
constexpr std::uint32_t kDiverging[] = {0x053061, 0x2166ac, 0x4393c3, 0x92c5de, 0xd1e5f0, 0xf7f7f7,
                                        0xfddbc7, 0xf4a582, 0xd6604d, 0xb2182b, 0x67001f};
constexpr std::uint8_t kGrey = 0x80;

/// One channel of the colour at `place` in [0, 1], linear between the given ones.
std::uint8_t channel_at(std::span<std::uint32_t const> colors, double place, int shift) {
  double const scaled = place * static_cast<double>(colors.size() - 1);
  auto const left = std::min(static_cast<std::size_t>(scaled), colors.size() - 2);
  double const part = scaled - static_cast<double>(left);
  auto const channel = [&](std::size_t k) { return double((colors[k] >> shift) & 0xff); };
  return static_cast<std::uint8_t>(
      std::lround((1 - part) * channel(left) + part * channel(left + 1)));
}

}  // namespace

std::array<std::uint8_t, 768> palette(ColorMap colors) {
  std::span<std::uint32_t const> map = kSequential;
  if (colors == ColorMap::diverging) map = kDiverging;
  std::array<std::uint8_t, 768> bytes{};
  bytes.fill(kGrey);
  for (std::size_t entry = 0; entry <= kMaxColor; ++entry) {
    double const place = static_cast<double>(entry) / kMaxColor;
    for (std::size_t channel = 0; channel < 3; ++channel) {
      bytes[3 * entry + channel] = channel_at(map, place, 16 - 8 * static_cast<int>(channel));
    }
  }
  return bytes;
}

}  // namespace voxcycle
