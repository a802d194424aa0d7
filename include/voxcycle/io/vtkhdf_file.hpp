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

/// A solution as ParaView and VTK open it.
struct SolutionFile {
  Grid3 grid;
  std::span<double const> u;  ///< [nx+1, ny+1, nz+1], or [nx, ny, nz] in voxels, z fastest
  /// [nx, ny, nz], z fastest, or empty: VTK before 9.3 (ParaView 5.12) fails on cell arrays of
  /// images.
  std::span<double const> nu{};
  /// [nx+1, ny+1, nz+1] or empty: standard deviation over the members of an ensemble.
  std::span<double const> spread{};
  bool converged = false;
  double relative_residual = 0.0;
  std::array<double, 3> origin{};  ///< of the box, in the unit of its lengths
  std::vector<std::pair<std::string, double>> figures{};  ///< more numbers by name
};

/// Writes VTKHDF ImageData (version 1.0, with the attribute Direction that VTK 9.1 needs):
/// PointData u (CellData u in voxels) and, unless they are empty, PointData spread and CellData nu,
/// whose first axis in the file is z, as VTK has it (x fastest). `converged` (0 or 1),
/// `relative_residual` and the figures are attributes of the group /VTKHDF: VTK 9.1 fails on
/// FieldData of images. The file appears under its name only when whole (see write_atomically).
/// @throws Error with HDF5's or the system's own text, e.g. no space on the disk.
void write_solution(std::string const& path, SolutionFile const& solution);

}  // namespace voxcycle
