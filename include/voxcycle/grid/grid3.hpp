// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace voxcycle {

/// A box cut into nx * ny * nz voxels. Fields on voxels (nu, f) are [B, 1, nx, ny, nz], fields on
/// nodes (u) are [B, 1, nx+1, ny+1, nz+1], z fastest.
///
/// Example: Grid3::cube(4) has 64 voxels, 125 nodes and spacing 0.25 on the unit cube.
struct Grid3 {
  std::array<std::int64_t, 3> voxels{0, 0, 0};   ///< voxels an axis (x, y, z), each > 0
  std::array<double, 3> lengths{1.0, 1.0, 1.0};  ///< edge lengths of the box, each > 0
  double part_spacing = 0.0;  ///< of a part along x (Slab::part): the whole grid's spacing, which
                              ///< length / voxels would round; else 0

  /// The unit cube with n voxels an axis.
  static Grid3 cube(std::int64_t n) { return {{n, n, n}, {1.0, 1.0, 1.0}}; }

  /// Voxel spacing h along `axis` (0: x, 1: y, 2: z).
  double spacing(int axis) const {
    if (axis == 0 && part_spacing > 0.0) return part_spacing;
    return lengths[axis] / static_cast<double>(voxels[axis]);
  }
  std::int64_t nodes(int axis) const { return voxels[axis] + 1; }
  std::int64_t voxel_count() const { return voxels[0] * voxels[1] * voxels[2]; }
  std::int64_t node_count() const { return nodes(0) * nodes(1) * nodes(2); }

  /// Shape of `batch` fields on the voxels.
  std::array<std::int64_t, 5> voxel_shape(std::int64_t batch = 1) const {
    return {batch, 1, voxels[0], voxels[1], voxels[2]};
  }
  /// Shape of `batch` fields on the nodes.
  std::array<std::int64_t, 5> node_shape(std::int64_t batch = 1) const {
    return {batch, 1, nodes(0), nodes(1), nodes(2)};
  }
  /// Largest voxel count along an axis: names the level of a grid.
  std::int64_t level() const;

  /// Whether every axis can be halved `times` times.
  bool divisible(int times) const;
  /// The grid with voxels twice as large. @throws Error if an axis is odd.
  Grid3 coarsened() const;
  /// "64x64x64": names directories and files.
  std::string name() const;
  /// "64^3" for cubes, else name(): for people.
  std::string label() const;

  bool operator==(Grid3 const&) const = default;
};

/// Checks that all sizes are positive. @throws Error naming the axis.
void require_valid(Grid3 const& grid);

}  // namespace voxcycle
