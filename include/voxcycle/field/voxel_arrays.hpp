// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace voxcycle {

/// A list of voxel arrays, all of one grid, that lies somewhere else: in a file, or in a test.
struct VoxelArrays {
  Grid3 grid;
  std::int64_t samples = 0;
  /// nu of sample `index` in [0, samples) on `count` planes along x from `first` on: [count, ny,
  /// nz], z fastest. Thread-safe.
  std::function<std::vector<float>(std::int64_t index, std::int64_t first, std::int64_t count)>
      read;
  /// Looks through some of them. What they look wrong for, as a sentence, else "".
  std::function<std::string()> doubt{};
};

}  // namespace voxcycle
