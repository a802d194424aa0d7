// SPDX-License-Identifier: BSD-3-Clause
// The formats that read_voxel_field knows.
#pragma once

#include "voxcycle/io/field_file.hpp"

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/hdf5_types.hpp"

namespace voxcycle {

/// A field as it lies in its file.
struct StoredField {
  hdf5::Shape shape;             ///< slowest axis first, as in memory
  std::vector<double> values;    ///< element_count(shape), or
  std::optional<Planes> rows{};  ///< those of these entries of the first axis
  bool reversed = false;         ///< the format counts its axes from the fastest on
  std::optional<std::array<double, 3>> spacing{};  ///< along x, y, z, if the file tells
  std::array<double, 3> origin{};                  ///< of the first voxel's first corner
};

/// How it is read.
struct StoredRead {
  External external = External::refused;
  /// Which entries of the first axis are wanted of an array [a, b, c]; none: all. Formats may read
  /// all.
  std::function<Planes(hdf5::Shape const&)> rows{};
};

/// One kind of file.
struct FieldFormat {
  std::string example;                           ///< of a location, for messages
  bool (*matches)(std::string const& location);  ///< by the location's form alone
  StoredField (*read)(std::string const& location, StoredRead const& how);
  bool has_own_axes = false;  ///< the format says which axis is which
};

/// "FILE[3]" as FILE and 3. @throws Error for brackets that hold something else.
std::pair<std::string, std::optional<std::int64_t>> split_entry(std::string const& location);
/// How many fields of three axes an array holds. @param shape  three axes or more
std::int64_t leading_count(hdf5::Shape const& shape);

bool is_vtkhdf_location(std::string const& location);
StoredField read_vtkhdf_field(std::string const& location, StoredRead const& how);
bool is_hdf5_location(std::string const& location);
StoredField read_hdf5_field(std::string const& location, StoredRead const& how);
bool is_numpy_location(std::string const& location);
StoredField read_numpy_field(std::string const& location, StoredRead const& how);
/// How many fields FILE.npy holds, 1 for FILE.npy[k].
std::int64_t count_numpy_fields(std::string const& location);
bool is_numpy_archive_location(std::string const& location);
StoredField read_numpy_archive_field(std::string const& location);
bool is_tiff_location(std::string const& location);
StoredField read_tiff_field(std::string const& location);
bool is_raw_location(std::string const& location);
StoredField read_raw_field(std::string const& location, StoredRead const& how);

}  // namespace voxcycle
