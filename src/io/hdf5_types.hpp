// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "io/hdf5_handle.hpp"

namespace voxcycle::hdf5 {

/// Kinds of numbers in our files, stored little-endian; texts are uint8.
enum class Number { float32, float64, int64, uint64, uint32, uint8 };

template <class T>
constexpr Number number_of() {
  if constexpr (std::is_same_v<T, float>) return Number::float32;
  if constexpr (std::is_same_v<T, double>) return Number::float64;
  if constexpr (std::is_same_v<T, std::int64_t>) return Number::int64;
  if constexpr (std::is_same_v<T, std::uint64_t>) return Number::uint64;
  if constexpr (std::is_same_v<T, std::uint32_t>) return Number::uint32;
  if constexpr (std::is_same_v<T, std::uint8_t>) return Number::uint8;
}

/// "float32", "int64", ...
std::string to_string(Number number);

using Shape = std::vector<std::int64_t>;

/// "[2, 3]"
std::string to_string(Shape const& shape);

std::size_t element_count(Shape const& shape);

hid_t memory_type(Number number);
hid_t file_type(Number number);
/// @throws Error if an array or attribute called `label` holds a type that we do not read.
Number number_in_file(hid_t type, std::string const& label);
/// A data space; the empty shape is a single value.
Handle make_spatial(Shape const& shape, std::string const& label);

}  // namespace voxcycle::hdf5
