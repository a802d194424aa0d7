// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace voxcycle {

/// A path over levels, 0 the coarsest. Example: half_v over 4 levels is 0 1 2 3, v is
/// 3 2 1 0 1 2 3. Each level on the path is one stage of training.
using LevelPath = std::vector<int>;

/// Names accepted by make_path, without "custom".
std::vector<std::string> cycle_names();

/// @param name    one of cycle_names(), or "custom"
/// @param levels  number of levels, >= 1
/// @param custom  the path for "custom", levels counted from 0; empty for all others
/// @throws Error for an unknown name, a path beside another name than "custom", or a path that is
/// empty or leaves the levels, naming the stage.
LevelPath make_path(std::string const& name, int levels, LevelPath const& custom = {});

/// The cycles, one file each in cycles/. `levels` >= 1.
LevelPath half_v_path(int levels);
LevelPath v_path(int levels);
LevelPath w_path(int levels);
LevelPath f_path(int levels);

/// Appends `tail` to `path`, merging equal neighbours where they meet.
void append_path(LevelPath& path, LevelPath const& tail);

}  // namespace voxcycle
