// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/grid/slab.hpp"

#include <span>
#include <string>
#include <vector>

namespace voxcycle {

/// A formula in the coordinates x, y, z, in muParser's notation: "8*sin(pi*x) + (y > 0.5 ? 1 : 0)".
/// @throws Error with the place of the mistake, for one that cannot be read or names something
/// else.
void require_formula(std::string const& formula);

/// Whether a text is one: a file's name is not.
bool is_formula(std::string const& text);

/// The formula's values at voxel centres (of some planes), z fastest, in the units of
/// Grid3::lengths. The last bits are those of the machine's mathematical library.
/// @throws Error for a value that is not finite, with its place.
std::vector<float> formula_values(std::string const& formula, Grid3 const& grid,
                                  Planes const& planes = {});

}  // namespace voxcycle
