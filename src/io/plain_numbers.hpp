// SPDX-License-Identifier: BSD-3-Clause
// Bare numbers in files: raw binary and what follows the header of a NumPy file.
#pragma once

#include "voxcycle/grid/slab.hpp"

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "io/hdf5_types.hpp"

namespace voxcycle {

/// One type of number.
struct PlainNumber {
  std::string name;   ///< "float32"
  std::string numpy;  ///< "f4"
  std::size_t bytes;
  void (*convert)(char const* from, std::size_t count, double* to);
};

std::vector<PlainNumber> const& plain_numbers();

enum class ByteOrder { little, big };

/// @throws Error unless `path` leads to a regular file; one of dead links says where they lead.
void require_regular_file(std::string const& path);

/// A file opened for reading and its size. @throws Error unless it is a regular, readable file.
struct PlainFile {
  explicit PlainFile(std::string const& path);
  std::ifstream in;
  std::uint64_t bytes = 0;
};

/// Bytes to read from where the stream stands, and how many it has in all.
struct NumberStream {
  std::istream& in;
  std::uint64_t bytes;
};

/// @throws Error unless all extents are positive and the elements at most 2^31 - 1, in memory that
///         this machine has.
/// @param rows  the entries of the first axis that are read, if not all
void require_possible(hdf5::Shape const& shape, std::string const& label,
                      std::optional<Planes> const& rows = {});

/// Reads an array from where the stream stands to its end.
/// @param rows  the entries of the first axis that are read
/// @throws Error naming the sizes unless the stream holds it, no more and no less.
std::vector<double> read_rest(NumberStream from, std::string const& label, hdf5::Shape const& shape,
                              PlainNumber const& number, ByteOrder order, Planes const& rows);

}  // namespace voxcycle
