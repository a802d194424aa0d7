// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include <array>
#include <span>
#include <vector>

namespace voxcycle {

/// How training may turn a sample before it sees it. A turned coefficient field is a field like any
/// other, and losses without labels ask for no more: a data set of N fields is worth up to 48 N.
enum class Augmentation {
  none,
  reflections,  ///< of any axis: 8 orientations
  all           ///< axes change places, too: 48 orientations of a cube
};

/// One orientation: output axis a runs along input axis `axis[a]`, backwards if mirrored.
struct Orientation {
  std::array<int, 3> axis{0, 1, 2};
  std::array<bool, 3> mirrored{};
  bool operator==(Orientation const&) const = default;
};

/// Those that map the grid onto itself, as it is first. Axes of unequal voxel counts or lengths
/// keep their places.
std::vector<Orientation> orientations(Augmentation augmentation, Grid3 const& grid);

/// A field on voxels, [nx, ny, nz], turned. @param orientation  one of the grid's
std::vector<float> turned(std::span<float const> field, Grid3 const& grid,
                          Orientation const& orientation);

}  // namespace voxcycle
