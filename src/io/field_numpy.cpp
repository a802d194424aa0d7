// SPDX-License-Identifier: BSD-3-Clause
// NumPy's .npy, versions 1 to 3: magic, version, length of the header, header (a Python dictionary
// as text), numbers. Source: numpy.lib.format.
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <regex>

#include "io/field_formats.hpp"
#include "io/plain_numbers.hpp"

namespace voxcycle {
namespace {

constexpr char const* kExtension = ".npy";
constexpr std::uint64_t kMaxHeader = 4096;  // of plain arrays they have 120

/// The dictionary as text; the file then stands at its numbers.
std::string read_header(PlainFile& file, std::string const& path) {
  std::string start(8, '\0');
  file.in.read(start.data(), 8);
  VOXCYCLE_REQUIRE(file.in && start.substr(0, 6) == "\x93NUMPY",
                   path << ": is no NumPy file. Write it with numpy.save.");
  int const version = static_cast<unsigned char>(start[6]);
  VOXCYCLE_REQUIRE(version >= 1 && version <= 3,
                   path << ": is a NumPy file of version " << version
                        << ", this program reads versions 1 to 3. Write it with numpy.save.");
  std::string length(version == 1 ? 2 : 4, '\0');
  file.in.read(length.data(), static_cast<std::streamsize>(length.size()));
  std::uint64_t bytes = 0;
  for (std::size_t k = length.size(); k-- > 0;) {
    bytes = bytes * 256 + static_cast<unsigned char>(length[k]);
  }
  VOXCYCLE_REQUIRE(file.in && bytes <= kMaxHeader && bytes <= file.bytes,
                   path << ": the header is damaged. Write the file again.");
  std::string header(bytes, '\0');
  file.in.read(header.data(), static_cast<std::streamsize>(bytes));
  VOXCYCLE_REQUIRE(file.in, path << ": the header is damaged. Write the file again.");
  return header;
}

/// The first group of `pattern` in the header.
std::string entry(std::string const& header, char const* pattern, std::string const& path,
                  char const* what) {
  std::smatch found;
  VOXCYCLE_REQUIRE(std::regex_search(header, found, std::regex(pattern)),
                   path << ": the header tells no " << what << " (" << header.substr(0, 80)
                        << "). Store a plain array of numbers.");
  return found[1];
}

/// @param type  its order of bytes (|, < or >), then its name, e.g. "<f4"
PlainNumber const& find_number(std::string const& type, std::string const& path) {
  std::vector<std::string> names;
  for (auto const& number : plain_numbers()) {
    bool const ordered = type.starts_with('<') || type.starts_with('>') ||
                         (number.bytes == 1 && type.starts_with('|'));
    if (ordered && type.substr(1) == number.numpy) return number;
    names.push_back(number.name);
  }
  throw Error(path + ": holds numbers of type '" + type + "'. Store one of " + join(names) + '.');
}

}  // namespace

bool is_numpy_location(std::string const& location) {
  return location.ends_with(kExtension);
}

StoredField read_numpy_field(std::string const& location) {
  PlainFile file(location);
  auto const header = read_header(file, location);
  auto const type = entry(header, R"('descr'\s*:\s*'([^']*)')", location, "type of number");
  auto const fortran = entry(header, R"('fortran_order'\s*:\s*(True|False))", location, "order");
  auto const shape = entry(header, R"('shape'\s*:\s*\(([0-9, ]*)\))", location, "shape");
  StoredField field;
  for (auto const& part : split_list(shape)) {
    if (part.empty()) continue;  // after the comma of "(3,)"
    auto const extent = parse_number<std::int64_t>(part);
    VOXCYCLE_REQUIRE(extent,
                     location << ": the shape (" << shape << ") is damaged. Write it again.");
    field.shape.push_back(*extent);
  }
  VOXCYCLE_REQUIRE(field.shape.size() == 3,
                   location << ": has the shape (" << shape << "). A field has three axes.");
  field.reversed = fortran == "True";
  if (field.reversed) std::reverse(field.shape.begin(), field.shape.end());
  auto const order = type.starts_with('>') ? ByteOrder::big : ByteOrder::little;
  field.values = read_rest(file, location, field.shape, find_number(type, location), order);
  return field;
}

}  // namespace voxcycle
