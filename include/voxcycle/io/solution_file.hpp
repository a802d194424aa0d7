// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace voxcycle {

/// A solution for other programs.
struct SolutionFile {
  Grid3 grid;
  std::span<double const> u;  ///< [nx+1, ny+1, nz+1], or [nx, ny, nz] in voxels, z fastest
  /// [nx, ny, nz], z fastest, or empty: of VTKHDF, VTK before 9.3 (ParaView 5.12) fails on cell
  /// arrays of images.
  std::span<double const> nu{};
  /// [nx, ny, nz, 3] or empty: nu grad u in the voxels; as nu.
  std::span<double const> flux{};
  /// [nx+1, ny+1, nz+1] or empty: standard deviation over the members of an ensemble.
  std::span<double const> spread{};
  bool converged = false;
  double relative_residual = 0.0;
  std::array<double, 3> origin{};  ///< of the box, in the unit of its lengths
  std::vector<std::pair<std::string, double>> figures{};  ///< more numbers by name
};

/// Writes a solution in the format of the path's extension:
///
///     .vtkhdf   VTKHDF ImageData (version 1.0, with the attribute Direction that VTK 9.1 needs):
///               PointData u and spread (CellData u in voxels), CellData nu and flux; in the file
///               the first axis is z, as VTK has it (x fastest). `converged` (0 or 1),
///               `relative_residual` and the figures are attributes of the group /VTKHDF: VTK 9.1
///               fails on FieldData of images.
///     .vti      VTK's XML ImageData, binary: the same arrays, which every VTK reads; the figures
///               are FieldData
///     .h5       HDF5 datasets u, spread, nu [x, y, z] and flux [x, y, z, component]; spacing,
///     origin
///               and the figures are attributes of the root
///     .npy      NumPy: u alone, [x, y, z]
///
/// The file appears under its name only when whole (see write_atomically).
/// @throws Error with HDF5's or the system's own text, e.g. no space on the disk, or for another
/// extension
void write_solution(std::string const& path, SolutionFile const& solution);

/// @throws Error naming `flag` unless the path has an extension of these, of a format that holds
/// fields beside u if there are `more`.
void require_solution_format(std::string const& flag, std::string const& path, bool more);

}  // namespace voxcycle
