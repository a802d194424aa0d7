// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/slab.hpp"

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace voxcycle {

/// A scalar on the voxels of a box, as some other program wrote it.
struct VoxelField {
  Grid3 grid;
  std::vector<double> values;      ///< [nx, ny, nz], z fastest, or some planes of it
  Planes planes;                   ///< along x that they are; all of them unless asked for some
  std::array<double, 3> origin{};  ///< where the box begins, if the file tells, else 0
  bool told_spacing = false;       ///< the grid's spacing is the file's own
};

/// Whether an HDF5 file may take values from other files, by external links, external storage or
/// virtual datasets: whoever made it would choose which of the user's files are read.
enum class External { refused, allowed };

struct VoxelFieldOptions {
  /// Names of the stored array's axes as its format counts them (the first index first): "xyz" for
  /// array[x, y, z], "zyx" for array[z, y, x].
  std::string axes = "xyz";
  /// Edges of a voxel along x, y, z, each > 0. Default: what the file says, else voxels are cubes
  /// and the longest edge of the box is 1.
  std::optional<std::array<double, 3>> spacing{};
  External external = External::refused;
  /// Which planes along x are wanted of a grid. Of arrays whose slowest axis is x (numpy's in C
  /// order, HDF5, bare numbers) no more is read; others are read whole first. Default: all.
  std::function<Planes(Grid3 const&)> planes{};
};

/// Whether the location has the form of one that read_voxel_field reads.
bool is_field_location(std::string const& location);
/// Whether the location's format says itself which axis is which. @throws Error for one of no known
/// format.
bool has_own_axes(std::string const& location);

/// Reads a field of integers or floating-point numbers from one of
///
///     FILE.h5:/path              HDF5 dataset [nx, ny, nz]; FILE.h5:/path[3]: of [S, nx, ny, nz];
///                                FILE.h5 (or .hdf5): the dataset nu, else the only one
///     FILE.vtkhdf[:name]         VTKHDF ImageData: cell array `name`, else nu, else the only one
///     FILE.npy                   NumPy, in C or Fortran order; axes of size 1 may lead;
///                                FILE.npy[3]: of [S, nx, ny, nz]
///     FILE.npz[:name]            the array `name`, else nu, else the only one
///     FILE.tif                   TIFF, array[page, row, column]; also A.tif,B.tif,..., a folder of
///                                slices or a pattern, DIR/*.tif: a page each, by their numbers
///     FILE:a,b,c:type            bare numbers of the shape stored, its last axis fastest (a file
///                                with x fastest: FILE:nz,ny,nx:type and axes zyx); float32, ...,
///                                little-endian, or big-endian with "be", e.g. uint16be
///
/// @throws Error naming the file for: another rank, size or type, missing or damaged files, values
/// in other files (see External), and axes given for VTKHDF, which has its own.
VoxelField read_voxel_field(std::string const& location, VoxelFieldOptions const& options = {});

/// @throws Error naming `label`, how many values are negative or not finite, and where the first
/// is, unless all are zero or positive, and finite.
/// @param first  index of the first value in the grid
void require_not_negative(std::string const& label, Grid3 const& grid, std::span<double const> nu,
                          std::int64_t first = 0);
/// The same for values that need only be finite.
void require_finite(std::string const& label, Grid3 const& grid, std::span<double const> f,
                    std::int64_t first = 0);
/// Keeps those planes along x of a field that has more.
void keep_planes(VoxelField& field, Planes const& planes);

/// @return "(x, y, z) = (1, 2, 3)" for the voxel of that index.
std::string place_text(Grid3 const& grid, std::int64_t index);

/// Three positive numbers "hx, hy, hz", or one for all. @throws Error naming `name`.
std::array<double, 3> parse_spacing(std::string const& name, std::string const& text);

}  // namespace voxcycle
