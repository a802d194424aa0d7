// SPDX-License-Identifier: BSD-3-Clause
// NumPy's .npy, versions 1 to 3: magic, version, length of the header, header (a Python dictionary
// as text), numbers. Source: numpy.lib.format. FILE.npz is a zip archive of such files.
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <regex>
#include <sstream>

#include "io/field_formats.hpp"
#include "io/plain_numbers.hpp"
#include "io/zip_file.hpp"

namespace voxcycle {
namespace {

constexpr char const* kExtension = ".npy";
constexpr char const* kArchive = ".npz";
constexpr std::uint64_t kMaxHeader = 4096;  // of plain arrays they have 120

/// The dictionary as text; the file then stands at its numbers.
std::string read_header(NumberStream file, std::string const& path) {
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

StoredField read_numbers(NumberStream file, std::string const& location) {
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
  while (field.shape.size() > 3 && field.shape.front() == 1) field.shape.erase(field.shape.begin());
  VOXCYCLE_REQUIRE(field.shape.size() == 3,
                   location << ": has the shape (" << shape << "). A field has three axes.");
  field.reversed = fortran == "True";
  if (field.reversed) std::reverse(field.shape.begin(), field.shape.end());
  auto const order = type.starts_with('>') ? ByteOrder::big : ByteOrder::little;
  field.values = read_rest(file, location, field.shape, find_number(type, location), order);
  return field;
}

/// FILE.npz:NAME; NAME is "" where none stands.
std::pair<std::string, std::string> archive_and_name(std::string const& location) {
  auto const end = location.rfind(kArchive) + std::string(kArchive).size();
  return {location.substr(0, end), end < location.size() ? location.substr(end + 1) : ""};
}

/// The array named, else nu, else the only one.
ZipMember const& choose_member(std::vector<ZipMember> const& members, std::string const& path,
                               std::string const& wanted) {
  std::vector<std::string> names;
  ZipMember const* chosen = nullptr;
  for (auto const& member : members) {
    if (!member.name.ends_with(kExtension)) continue;
    names.push_back(member.name.substr(0, member.name.size() - std::string(kExtension).size()));
    if (names.back() == (wanted.empty() ? "nu" : wanted)) chosen = &member;
  }
  if (chosen == nullptr && wanted.empty() && names.size() == 1) {
    for (auto const& member : members) {
      if (member.name == names.front() + kExtension) chosen = &member;
    }
  }
  VOXCYCLE_REQUIRE(chosen != nullptr,
                   path << ": there is no array '" << (wanted.empty() ? "nu" : wanted)
                        << "'. It holds: " << (names.empty() ? "none" : join(names))
                        << "; name one as FILE.npz:NAME.");
  return *chosen;
}

}  // namespace

bool is_numpy_location(std::string const& location) {
  return location.ends_with(kExtension);
}

StoredField read_numpy_field(std::string const& location) {
  PlainFile file(location);
  return read_numbers({file.in, file.bytes}, location);
}

bool is_numpy_archive_location(std::string const& location) {
  return location.ends_with(kArchive) ||
         location.find(std::string(kArchive) + ':') != std::string::npos;
}

StoredField read_numpy_archive_field(std::string const& location) {
  auto const [path, name] = archive_and_name(location);
  PlainFile file(path);
  auto const members = zip_members(file, path);
  auto const& member = choose_member(members, path, name);
  std::istringstream content(read_zip_member(file, path, member));
  return read_numbers({content, member.bytes}, path + ':' + member.name);
}

}  // namespace voxcycle
