// SPDX-License-Identifier: BSD-3-Clause
#include "io/plain_numbers.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/is_there.hpp"
#include "voxcycle/core/memory.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

namespace voxcycle {
namespace {

static_assert(std::endian::native == std::endian::little,
              "little-endian numbers are copied as they lie in files");

/// Bytes read at a time: the file never lies in memory twice.
constexpr std::size_t kBlock = std::size_t{1} << 20;
/// No axis is longer: products of three stay far below the largest integer.
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 20;
constexpr std::int64_t kMaxElements = (std::int64_t{1} << 31) - 1;

/// A number of 16 bits, IEEE 754: 1 of sign, 5 of exponent, 10 of fraction.
double half_value(std::uint16_t bits) {
  int const exponent = bits >> 10 & 31, fraction = bits & 1023;
  double const size = exponent == 31  ? (fraction == 0 ? std::numeric_limits<double>::infinity()
                                                       : std::numeric_limits<double>::quiet_NaN())
                      : exponent == 0 ? std::ldexp(fraction, -24)
                                      : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

void convert_half(char const* from, std::size_t count, double* to) {
  for (std::size_t k = 0; k < count; ++k) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, from + k * sizeof(bits), sizeof(bits));
    to[k] = half_value(bits);
  }
}

template <class T>
void convert(char const* from, std::size_t count, double* to) {
  for (std::size_t k = 0; k < count; ++k) {
    T value;
    std::memcpy(&value, from + k * sizeof(T), sizeof(T));
    to[k] = static_cast<double>(value);
  }
}

/// The bytes of each of `count` numbers.
void reverse_each(char* numbers, std::size_t count, std::size_t bytes) {
  for (std::size_t k = 0; k < count; ++k) {
    std::reverse(numbers + k * bytes, numbers + (k + 1) * bytes);
  }
}

template <class T>
PlainNumber number(char const* name, char const* numpy) {
  return {name, numpy, sizeof(T), convert<T>};
}

}  // namespace

std::vector<PlainNumber> const& plain_numbers() {
  static std::vector<PlainNumber> const all{
      number<float>("float32", "f4"),        number<double>("float64", "f8"),
      number<std::int8_t>("int8", "i1"),     number<std::int16_t>("int16", "i2"),
      number<std::int32_t>("int32", "i4"),   number<std::int64_t>("int64", "i8"),
      number<std::uint8_t>("uint8", "u1"),   number<std::uint16_t>("uint16", "u2"),
      number<std::uint32_t>("uint32", "u4"), number<std::uint64_t>("uint64", "u8"),
      number<std::uint8_t>("bool", "b1"),    {"float16", "f2", 2, convert_half},
  };
  return all;
}

void require_regular_file(std::string const& path) {
  std::error_code code;
  auto const status = std::filesystem::status(path, code);
  if (!is_there(path)) {
    auto const target = std::filesystem::read_symlink(path, code);
    VOXCYCLE_REQUIRE(code, path << ": is a link to " << target.string()
                                << ", where there is no such file. Correct the link.");
    throw Error(path + ": there is no such file. Check the path.");
  }
  VOXCYCLE_REQUIRE(std::filesystem::is_regular_file(status), path << ": is not a regular file.");
}

PlainFile::PlainFile(std::string const& path) {
  require_regular_file(path);
  in.open(path, std::ios::binary);
  VOXCYCLE_REQUIRE(
      in, path << ": cannot be opened (" << std::strerror(errno) << "). Check its permissions.");
  bytes = std::filesystem::file_size(path);
}

void require_possible(hdf5::Shape const& whole, std::string const& label,
                      std::optional<Planes> const& rows) {
  for (auto const extent : whole) {
    VOXCYCLE_REQUIRE(extent > 0 && extent <= kMaxExtent,
                     label << ": the shape " << hdf5::to_string(whole) << " is out of range (1 to "
                           << kMaxExtent << " an axis). Check it.");
  }
  hdf5::Shape shape = whole;
  if (rows) shape[0] = rows->count;
  VOXCYCLE_REQUIRE(hdf5::element_count(shape) <= kMaxElements,
                   label << ": the shape " << hdf5::to_string(shape) << " has "
                         << hdf5::element_count(shape) << " voxels, out of range (2^31 - 1 at "
                         << "most; more would not fit into memory). Cut it, or coarsen it.");
  auto const needed = static_cast<double>(hdf5::element_count(shape)) * sizeof(double);
  double const usable = usable_memory_bytes();
  VOXCYCLE_REQUIRE(usable == 0.0 || needed <= usable,
                   label << ": to read " << hdf5::to_string(shape) << " voxels needs "
                         << format_bytes(needed) << " of memory, and " << format_bytes(usable)
                         << " can be used here. Cut it, or coarsen it.");
}

std::vector<double> read_rest(NumberStream from, std::string const& label, hdf5::Shape const& shape,
                              PlainNumber const& number, ByteOrder order, Planes const& rows) {
  require_possible(shape, label, rows);
  auto const all = hdf5::element_count(shape);
  auto const a_row = all / static_cast<std::uint64_t>(shape[0]);
  auto const count = static_cast<std::uint64_t>(rows.count) * a_row;
  auto const begin = static_cast<std::uint64_t>(from.in.tellg());
  VOXCYCLE_REQUIRE(from.bytes - begin == all * number.bytes,
                   label << ": holds " << from.bytes - begin << " bytes of numbers, but "
                         << hdf5::to_string(shape) << " of " << number.name << " are "
                         << all * number.bytes << ". Check shape, type and file.");
  from.in.seekg(static_cast<std::streamoff>(begin + static_cast<std::uint64_t>(rows.begin) * a_row *
                                                        number.bytes));
  std::vector<double> values(count);
  std::vector<char> block(kBlock);
  std::size_t const maximum = kBlock / number.bytes;
  for (std::size_t done = 0; done < count;) {
    std::size_t const part = std::min(maximum, count - done);
    from.in.read(block.data(), static_cast<std::streamsize>(part * number.bytes));
    VOXCYCLE_REQUIRE(from.in, label << ": cannot be read to its end. Check the disk.");
    if (order == ByteOrder::big) reverse_each(block.data(), part, number.bytes);
    number.convert(block.data(), part, values.data() + done);
    done += part;
  }
  return values;
}

}  // namespace voxcycle
