// SPDX-License-Identifier: BSD-3-Clause
// How neighbours of nodes are numbered, and what is kept for which.
#pragma once

#include "voxcycle/core/block_program.hpp"

#include <array>

namespace voxcycle {

/// Offsets between neighbouring nodes, each -1, 0 or 1 an axis. They are numbered 0 to 26 with z
/// fastest; 13 is none, and t and 26 - t are opposite.
using Offset = std::array<int, 3>;
constexpr int offset_count = 27;
constexpr int no_offset = 13;

constexpr Offset offset_of(int t) {
  return {t / 9 - 1, t / 3 % 3 - 1, t % 3 - 1};
}
VOXCYCLE_BOTH constexpr int index_of(int x, int y, int z) {
  return no_offset + 9 * x + 3 * y + z;
}
constexpr int index_of(Offset const& o) {
  return index_of(o[0], o[1], o[2]);
}

/// An offset for GPUs, which have no std::array.
struct Step {
  int x, y, z;
  VOXCYCLE_BOTH explicit constexpr Step(int t) : x(t / 9 - 1), y(t / 3 % 3 - 1), z(t % 3 - 1) {}
};

/// Index of an offset's weights of interpolation.
VOXCYCLE_BOTH constexpr int weight_slot(int t) {
  return t < no_offset ? t : t - 1;
}
constexpr int weight_count = offset_count - 1;
constexpr int coupling_count = offset_count - no_offset - 1;

/// Where the coupling with the neighbour at offset t is among the `kept` ones of the node of the
/// two that comes first: of 13, or of 3 along x, y and z. -1 if it is 0.
constexpr int coupling_slot(int t, int kept) {
  int const forward = t > no_offset ? t : offset_count - 1 - t;
  if (kept == coupling_count) return forward - no_offset - 1;
  constexpr int of_axis[] = {index_of(1, 0, 0), index_of(0, 1, 0), index_of(0, 0, 1)};
  for (int axis = 0; axis < 3; ++axis) {
    if (forward == of_axis[axis]) return axis;
  }
  return -1;
}

}  // namespace voxcycle
