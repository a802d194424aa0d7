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

/// One array of a solution.
struct SolutionArray {
  std::string name;
  FieldValues values;
  bool on_nodes = true;  ///< else in voxels
  std::int64_t components = 1;
};

/// Those that it has: u first.
std::vector<SolutionArray> arrays_of(SolutionFile const& solution);
/// Nodes or voxels along the axes.
std::array<std::int64_t, 3> extents_of(SolutionArray const& array, Grid3 const& grid);
using TakePlane = std::function<void(std::int64_t place, std::span<double const> plane)>;
/// Gives the planes across x, 0, 1, ..., in the field's order.
void for_planes_of_x(SolutionArray const& array, Grid3 const& grid, TakePlane const& take);
/// Gives the planes across z, 0, 1, ..., x fastest but for the components.
void for_planes_of_z(SolutionArray const& array, Grid3 const& grid, TakePlane const& take);
/// converged, relative_residual, and the others.
std::vector<std::pair<std::string, double>> figures_of(SolutionFile const& solution);

}  // namespace voxcycle
