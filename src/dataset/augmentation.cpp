// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/dataset/augmentation.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <cstdint>

namespace voxcycle {
namespace {

bool keeps(Grid3 const& grid, std::array<int, 3> const& axis) {
  for (int a = 0; a < 3; ++a) {
    if (grid.voxels[axis[a]] != grid.voxels[a] || grid.lengths[axis[a]] != grid.lengths[a]) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::vector<Orientation> orientations(Augmentation augmentation, Grid3 const& grid) {
  if (augmentation == Augmentation::none) return {{}};
  std::vector<Orientation> all;
  std::array<int, 3> axis{0, 1, 2};
  do {
    if (!keeps(grid, axis)) continue;
    for (int k = 0; k < 8; ++k) all.push_back({axis, {(k & 1) != 0, (k & 2) != 0, (k & 4) != 0}});
  } while (augmentation == Augmentation::all && std::next_permutation(axis.begin(), axis.end()));
  return all;
}

std::vector<float> turned(std::span<float const> field, Grid3 const& grid,
                          Orientation const& orientation) {
  VOXCYCLE_REQUIRE(
      std::ssize(field) == grid.voxel_count() && keeps(grid, orientation.axis),
      "a field of " << field.size() << " voxels on " << grid.name() << " cannot be turned so.");
  auto const& n = grid.voxels;
  std::array<std::int64_t, 3> const strides{n[1] * n[2], n[2], 1};
  std::array<std::int64_t, 3> step{};
  std::int64_t first = 0;
  for (int a = 0; a < 3; ++a) {
    step[a] = strides[orientation.axis[a]];
    if (!orientation.mirrored[a]) continue;
    first += (n[a] - 1) * step[a];
    step[a] = -step[a];
  }
  std::vector<float> out;
  out.reserve(field.size());
  for (std::int64_t x = 0; x < n[0]; ++x) {
    for (std::int64_t y = 0; y < n[1]; ++y) {
      float const* in = field.data() + first + x * step[0] + y * step[1];
      for (std::int64_t z = 0; z < n[2]; ++z) out.push_back(in[z * step[2]]);
    }
  }
  return out;
}

}  // namespace voxcycle
