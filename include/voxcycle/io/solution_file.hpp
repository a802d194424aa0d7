// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/box.hpp"
#include "voxcycle/grid/grid3.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace voxcycle {

/// A field [x, y, z, component], z fastest but for components, that is read a box at a time: it
/// need not be in memory as a whole.
class FieldValues {
 public:
  /// Writes the values of a box to `to`, in the field's order.
  using Read = std::function<void(Box const& box, double* to)>;

  FieldValues() = default;
  /// A field in memory, which must outlive this.
  FieldValues(std::span<double const> whole) : size_(std::ssize(whole)), whole_(whole) {}
  FieldValues(std::vector<double> const& whole) : FieldValues(std::span<double const>(whole)) {}
  FieldValues(std::int64_t size, Read read) : size_(size), read_(std::move(read)) {}

  std::int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// @param extents  of the whole field
  void read(Box const& box, std::array<std::int64_t, 3> const& extents, std::int64_t components,
            double* to) const;

 private:
  std::int64_t size_ = 0;
  std::span<double const> whole_{};
  Read read_{};
};

/// A solution for other programs.
struct SolutionFile {
  Grid3 grid;
  FieldValues u{};  ///< [nx+1, ny+1, nz+1], or [nx, ny, nz] in voxels, z fastest
  /// [nx, ny, nz], z fastest, or empty: of VTKHDF, VTK before 9.3 (ParaView 5.12) fails on cell
  /// arrays of images.
  FieldValues nu{};
  /// [nx, ny, nz, 3] or empty: nu grad u in the voxels; as nu.
  FieldValues flux{};
  /// [nx+1, ny+1, nz+1] or empty: standard deviation over the members of an ensemble.
  FieldValues spread{};
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
