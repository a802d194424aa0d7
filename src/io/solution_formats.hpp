// SPDX-License-Identifier: BSD-3-Clause
// The formats that write_solution knows.
#pragma once

#include "voxcycle/io/solution_file.hpp"

#include <functional>
#include <string>

namespace voxcycle {

/// Writes the file `temporary`, which is to be `path`.
void write_vtkhdf(std::string const& temporary, std::string const& path,
                  SolutionFile const& solution);
void write_vti(std::string const& temporary, std::string const& path, SolutionFile const& solution);

/// Gives the planes z = 0, 1, ... of field[x, y, z, component], x fastest but for the components.
/// @throws Error unless the field has n[0] n[1] n[2] places
void for_planes(std::span<double const> field, std::array<std::int64_t, 3> const& n,
                std::int64_t components,
                std::function<void(std::int64_t z, std::span<double const> plane)> const& take);

/// One array of a solution.
struct SolutionArray {
  std::string name;
  std::span<double const> values;
  bool on_nodes = true;  ///< else in voxels
  std::int64_t components = 1;
};

/// Those that it has: u first.
std::vector<SolutionArray> arrays_of(SolutionFile const& solution);
/// Nodes or voxels along the axes.
std::array<std::int64_t, 3> extents_of(SolutionArray const& array, Grid3 const& grid);
/// converged, relative_residual, and the others.
std::vector<std::pair<std::string, double>> figures_of(SolutionFile const& solution);

}  // namespace voxcycle
