// SPDX-License-Identifier: BSD-3-Clause
#include "network/unet/unet_sizes.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/network/norm_act.hpp"

#include <algorithm>
#include <string>

namespace voxcycle::unet_sizes {
namespace {

constexpr std::int64_t kMaxDepth = 16;
constexpr std::int64_t kMaxChannels = std::int64_t{1} << 20;
constexpr std::int64_t kPublishedDoublings = 3;  // 16, 32, 64, 128, 128

/// Whether the norm looks at each sample and channel of the coarsest features alone.
bool has_lone_channels(NetworkOptions const& options) {
  return options.norm == Norm::instance ||
         (options.norm == Norm::group && channels(options, options.depth) <= NormOptions{}.groups);
}

}  // namespace

void require_sizes(NetworkOptions const& options) {
  VOXCYCLE_REQUIRE(options.depth >= 1 && options.depth <= kMaxDepth,
                   "network: depth " << options.depth << " is out of range. Set network.depth to "
                                     << "1 ... " << kMaxDepth << '.');
  std::int64_t const base = options.base_channels;
  VOXCYCLE_REQUIRE(base >= 1 && base <= (kMaxChannels >> options.depth),
                   "network: " << base << " channels, doubled " << options.depth
                               << " times, are out of range. Lower network.base_channels or "
                               << "network.depth.");
}

std::int64_t channels(NetworkOptions const& options, std::int64_t k) {
  return options.base_channels << (options.name == "published" ? std::min(k, kPublishedDoublings)
                                                               : k);
}

std::int64_t too_coarse(NetworkOptions const& options) {
  return has_lone_channels(options) ? std::int64_t{1} << options.depth : 0;
}

void require_halvings(NetworkOptions const& options, Grid3 const& grid, int stages) {
  auto const halvings = static_cast<int>(options.depth) + stages;
  int fitting = 0;
  while (fitting < halvings && grid.divisible(fitting + 1)) ++fitting;
  VOXCYCLE_REQUIRE(fitting == halvings,
                   "network: level " << grid.label() << " cannot be halved " << halvings
                                     << " times (the coarsest features would be smaller than a "
                                     << "voxel or cut one). "
                                     << (fitting > stages ? "Set network.depth to " +
                                                                std::to_string(fitting - stages) +
                                                                " or less, or u"
                                                          : std::string("U"))
                                     << "se a grid that can be halved so often.");
  VOXCYCLE_REQUIRE(grid.level() >> stages > too_coarse(options),
                   "network: level " << grid.label() << " halved " << halvings
                                     << " times is one voxel, which " << to_string(options.norm)
                                     << " norm turns into zero. Lower network.depth or use another "
                                     << "network.norm.");
}

}  // namespace voxcycle::unet_sizes
