// SPDX-License-Identifier: BSD-3-Clause
// NumPy's .npy, versions 1 to 3: magic, version, length of the header, header (a Python dictionary
// as text), numbers. Source: numpy.lib.format. FILE.npz is a zip archive of such files, and
// FILE.npy[3] the fourth field of an array [samples, nx, ny, nz].
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <optional>
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

/// What a header says.
struct Description {
  hdf5::Shape shape;  ///< as numpy tells it
  bool fortran = false;
  std::string type;
};

Description read_description(NumberStream file, std::string const& location) {
  auto const header = read_header(file, location);
  Description found;
  found.type = entry(header, R"('descr'\s*:\s*'([^']*)')", location, "type of number");
  found.fortran =
      entry(header, R"('fortran_order'\s*:\s*(True|False))", location, "order") == "True";
  auto const shape = entry(header, R"('shape'\s*:\s*\(([0-9, ]*)\))", location, "shape");
  for (auto const& part : split_list(shape)) {
    if (part.empty()) continue;  // after the comma of "(3,)"
    auto const extent = parse_number<std::int64_t>(part);
    VOXCYCLE_REQUIRE(extent,
                     location << ": the shape (" << shape << ") is damaged. Write it again.");
    found.shape.push_back(*extent);
  }
  VOXCYCLE_REQUIRE(found.shape.size() >= 3,
                   location << ": has the shape (" << shape << "). A field has three axes.");
  return found;
}

/// How many fields the axes before the last three hold.
std::int64_t fields_of(Description const& array, std::string const& location) {
  auto const count = leading_count(array.shape);
  VOXCYCLE_REQUIRE(count == 1 || !array.fortran,
                   location << ": several fields in Fortran order cannot be read one by one. Store "
                               "them in C order (numpy.ascontiguousarray).");
  return count;
}

StoredField read_numbers(NumberStream file, std::string const& location,
                         std::optional<std::int64_t> sample = {}, StoredRead const& how = {}) {
  auto array = read_description(file, location);
  auto const count = fields_of(array, location);
  VOXCYCLE_REQUIRE(sample || count == 1,
                   location << ": has the shape " << hdf5::to_string(array.shape)
                            << ". A field has three axes; name one of several as FILE.npy[0].");
  VOXCYCLE_REQUIRE(sample.value_or(0) < count,
                   location << ": there is no such field, the array holds " << count << '.');
  StoredField field;
  field.shape.assign(array.shape.end() - 3, array.shape.end());
  field.reversed = array.fortran;
  if (field.reversed) std::reverse(field.shape.begin(), field.shape.end());
  auto const order = array.type.starts_with('>') ? ByteOrder::big : ByteOrder::little;
  auto const& number = find_number(array.type, location);
  require_possible(field.shape, location, Planes{0, 1});
  if (how.rows && !field.reversed) field.rows = how.rows(field.shape);
  Planes const rows = field.rows.value_or(Planes{0, field.shape[0]});
  auto const bytes = hdf5::element_count(field.shape) * number.bytes;
  auto const begin = static_cast<std::uint64_t>(file.in.tellg());
  VOXCYCLE_REQUIRE(count == 1 || file.bytes - begin == static_cast<std::uint64_t>(count) * bytes,
                   location << ": holds " << file.bytes - begin << " bytes of numbers, but "
                            << count << " fields are " << static_cast<std::uint64_t>(count) * bytes
                            << ". Write the file again.");
  if (count > 1) {
    auto const from = begin + static_cast<std::uint64_t>(*sample) * bytes;
    file.in.seekg(static_cast<std::streamoff>(from));
    file.bytes = from + bytes;
  }
  field.values = read_rest(file, location, field.shape, number, order, rows);
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
  return location.ends_with(kExtension) ||
         (location.ends_with(']') &&
          location.find(std::string(kExtension) + '[') != std::string::npos);
}

StoredField read_numpy_field(std::string const& location, StoredRead const& how) {
  auto const [path, sample] = split_entry(location);
  PlainFile file(path);
  return read_numbers({file.in, file.bytes}, location, sample, how);
}

std::int64_t count_numpy_fields(std::string const& location) {
  auto const [path, sample] = split_entry(location);
  if (sample) return 1;
  PlainFile file(path);
  return fields_of(read_description({file.in, file.bytes}, location), location);
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
