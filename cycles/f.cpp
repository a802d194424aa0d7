// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/cycle/cycle.hpp"

namespace voxcycle {

/// Each level runs through an F-cycle, then a V-cycle of the coarser levels:
/// 4 3 2 1 2 1 2 3 2 1 2 3 4.
LevelPath f_path(int levels) {
  if (levels == 1) return {0};
  LevelPath path{levels - 1};
  append_path(path, f_path(levels - 1));
  append_path(path, v_path(levels - 1));
  append_path(path, {levels - 1});
  return path;
}

}  // namespace voxcycle
