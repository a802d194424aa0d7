// SPDX-License-Identifier: BSD-3-Clause
#include "io/hdf5_types.hpp"

#include "voxcycle/core/error.hpp"

#include <array>

namespace voxcycle::hdf5 {

namespace {

struct Kind {
  Number number;
  char const* name;
  hid_t in_memory;
  hid_t in_file;
};

/// The names of types call into HDF5.
std::array<Kind, 6> kinds() {
  auto const lock = enter();
  return {{
      {Number::float32, "float32", H5T_NATIVE_FLOAT, H5T_IEEE_F32LE},
      {Number::float64, "float64", H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE},
      {Number::int64, "int64", H5T_NATIVE_INT64, H5T_STD_I64LE},
      {Number::uint64, "uint64", H5T_NATIVE_UINT64, H5T_STD_U64LE},
      {Number::uint32, "uint32", H5T_NATIVE_UINT32, H5T_STD_U32LE},
      {Number::uint8, "uint8", H5T_NATIVE_UINT8, H5T_STD_U8LE},
  }};
}

Kind kind(Number number) {
  return kinds()[static_cast<std::size_t>(number)];
}

}  // namespace

std::string to_string(Number number) {
  return kind(number).name;
}

std::string to_string(Shape const& shape) {
  std::string text = "[";
  for (std::int64_t extent : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  }
  return text + "]";
}

hid_t memory_type(Number number) {
  return kind(number).in_memory;
}

hid_t file_type(Number number) {
  return kind(number).in_file;
}

Number number_in_file(hid_t type, std::string const& label) {
  auto const lock = enter();
  for (Kind const& one : kinds()) {
    if (H5Tequal(type, one.in_file) > 0) return one.number;
  }
  throw Error(
      label +
      ": holds a type of number that voxcycle does not read (it reads little-endian float32, "
      "float64, int64, uint64, uint32, uint8). Convert the array.");
}

Handle make_spatial(Shape const& shape, std::string const& label) {
  auto const lock = enter();
  std::vector<hsize_t> extents(shape.begin(), shape.end());
  hid_t const id =
      shape.empty() ? H5Screate(H5S_SCALAR)
                    : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
  return checked(id, H5Sclose, label, "cannot describe the shape " + to_string(shape), "");
}

std::size_t element_count(Shape const& shape) {
  std::size_t count = 1;
  for (std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
  return count;
}

}  // namespace voxcycle::hdf5
