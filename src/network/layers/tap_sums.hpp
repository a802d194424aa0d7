// SPDX-License-Identifier: BSD-3-Clause
// The hot loop of weight gradients on coarse grids, compiled once per instruction set
// (src/network/kernels/tap_sums.cpp) and chosen at run time. Terms are added one after the other,
// voxel by voxel, so results depend neither on the instruction set nor on threads.
#pragma once

#include "voxcycle/core/instruction_set.hpp"

#include <array>
#include <cstdint>

namespace voxcycle::tap_sums {

/// Samples in float32, channels last.
struct Field {
  float const* values;
  std::array<std::int64_t, 3> size;
  std::int64_t channels;
};

/// For channels i of a, j of b and taps t in [0, kernel)^3: the sum over all voxels v of a of
/// a_i(v) b_j(stride v + t - padding), where b is zero outside. [i, t, j], as weights are stored.
struct Sums {
  Field a, b;
  std::int64_t samples, kernel, stride;
  std::array<std::int64_t, 3> padding;
};

/// Channels come in this many: of b, or at least of a.
constexpr std::int64_t kLanes = 16;

struct Table {
  /// Of one tap, counted in the order of memory.
  void (*of_tap)(Sums const& of, std::int64_t tap, float* sums);
};

VOXCYCLE_KERNEL_TABLES

}  // namespace voxcycle::tap_sums
