// SPDX-License-Identifier: BSD-3-Clause
// Pictures of a solution and its coefficient.
#pragma once

#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/io/png.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// The three pictures of a field share one range, that of their finite values.
struct SliceRanges {
  ColorRange u;
  ColorRange log10_nu;
};

/// The middle plane of a field across an axis, [first, second of the other axes], float64.
using MiddlePlane = std::function<at::Tensor(int axis)>;

/// Writes the middle planes across x, y and z of u and log10 nu as <directory>/u_x.png, ..., to
/// scale, and slices.html, which shows them with their colours' values, below the figures.
/// @param title, figures  of the page: names and values
/// Values that are not finite are grey. @throws Error if the disk is full.
SliceRanges write_slices(std::string const& directory, std::string const& title,
                         std::vector<std::pair<std::string, std::string>> const& figures,
                         Grid3 const& grid, MiddlePlane const& u, MiddlePlane const& nu);

/// @return e.g. "u 0 to 1, log10 nu -3 to 0.5".
std::string to_string(SliceRanges const& ranges);

}  // namespace voxcycle
