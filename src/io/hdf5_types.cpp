// SPDX-License-Identifier: BSD-3-Clause
#include "io/hdf5_types.hpp"

#include "voxcycle/core/error.hpp"

namespace voxcycle::hdf5 {

std::string to_string(Number number) {
  switch (number) {
    case Number::float32:
      return "float32";
    case Number::float64:
      return "float64";
    case Number::int64:
      return "int64";
    case Number::uint64:
      return "uint64";
    case Number::uint32:
      return "uint32";
  }
  return "unknown";
}

std::string to_string(Shape const& shape) {
  std::string text = "[";
  for (std::int64_t extent : shape) {
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  }
  return text + "]";
}

hid_t memory_type(Number number) {
  switch (number) {
    case Number::float32:
      return H5T_NATIVE_FLOAT;
    case Number::float64:
      return H5T_NATIVE_DOUBLE;
    case Number::int64:
      return H5T_NATIVE_INT64;
    case Number::uint64:
      return H5T_NATIVE_UINT64;
    case Number::uint32:
      return H5T_NATIVE_UINT32;
  }
  throw Error("unknown kind of number.");
}

hid_t file_type(Number number) {
  switch (number) {
    case Number::float32:
      return H5T_IEEE_F32LE;
    case Number::float64:
      return H5T_IEEE_F64LE;
    case Number::int64:
      return H5T_STD_I64LE;
    case Number::uint64:
      return H5T_STD_U64LE;
    case Number::uint32:
      return H5T_STD_U32LE;
  }
  throw Error("unknown kind of number.");
}

Number number_in_file(hid_t type, std::string const& label) {
  for (Number number :
       {Number::float32, Number::float64, Number::int64, Number::uint64, Number::uint32}) {
    if (H5Tequal(type, file_type(number)) > 0) return number;
  }
  throw Error(label + ": holds a type of number that voxcycle does not write. " + kDamageAdvice);
}

Handle make_space(Shape const& shape, std::string const& label) {
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
