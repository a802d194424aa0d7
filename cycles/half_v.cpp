// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/cycle/cycle.hpp"

#include <numeric>

namespace voxcycle {

/// From the coarsest level straight to the finest: 1 2 3 4.
LevelPath half_v_path(int levels) {
  LevelPath path(static_cast<std::size_t>(levels));
  std::iota(path.begin(), path.end(), 0);
  return path;
}

}  // namespace voxcycle
