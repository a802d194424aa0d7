// SPDX-License-Identifier: BSD-3-Clause
// Depths and channels of U-Nets, and the grids that they fit.
#pragma once

#include "voxcycle/network/network.hpp"

namespace voxcycle::unet_sizes {

/// @throws Error naming the key that is out of range.
void require_sizes(NetworkOptions const& options);

/// Of the features on n / 2^k.
std::int64_t channels(NetworkOptions const& options, std::int64_t k);

/// Grids n, halved `depth` times, at and below which the normalisation erases all features; 0:
/// none.
std::int64_t too_coarse(NetworkOptions const& options);

/// @param stages  halvings above those of the depth
/// @throws Error saying which depth would do.
void require_halvings(NetworkOptions const& options, Grid3 const& grid, int stages);

}  // namespace voxcycle::unet_sizes
