// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/cycle/cycle.hpp"

namespace voxcycle {

/// Each level runs through the next coarser cycle twice: 4 3 2 1 2 1 2 3 2 1 2 1 2 3 4.
LevelPath w_path(int levels) {
  if (levels == 1) return {0};
  LevelPath path{levels - 1};
  append_path(path, w_path(levels - 1));
  append_path(path, w_path(levels - 1));
  append_path(path, {levels - 1});
  return path;
}

}  // namespace voxcycle
