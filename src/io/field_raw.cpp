// SPDX-License-Identifier: BSD-3-Clause
// FILE:a,b,c:type, the shape as stored, its last axis fastest; type be of big-endian numbers
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>

#include "io/field_formats.hpp"
#include "io/plain_numbers.hpp"

namespace voxcycle {
namespace {

struct RawLocation {
  std::string path, shape, type;
};

/// Empty type if the location has not two colons after its path.
RawLocation split(std::string const& location) {
  auto const last = location.rfind(':');
  if (last == std::string::npos || last == 0) return {};
  auto const middle = location.rfind(':', last - 1);
  if (middle == std::string::npos || middle == 0) return {};
  return {location.substr(0, middle), location.substr(middle + 1, last - middle - 1),
          location.substr(last + 1)};
}

constexpr char const* kBigEndian = "be";

PlainNumber const& find_number(std::string const& location, std::string const& name) {
  std::vector<std::string> names;
  for (auto const& number : plain_numbers()) {
    if (number.name == name || number.name + kBigEndian == name) return number;
    names.push_back(number.name);
  }
  throw Error(location + ": the type '" + name + "' is unknown. Choose one of " + join(names) +
              ", of big-endian numbers e.g. uint16be.");
}

}  // namespace

bool is_raw_location(std::string const& location) {
  auto const parts = split(location);
  bool const is_type = !parts.type.empty() && parts.type.find('/') == std::string::npos;
  return is_type && !parts.shape.empty() &&
         parts.shape.find_first_not_of("0123456789-, ") == std::string::npos;
}

StoredField read_raw_field(std::string const& location, StoredRead const& how) {
  auto const parts = split(location);
  StoredField field;
  for (auto const& part : split_list(parts.shape)) {
    auto const extent = parse_number<std::int64_t>(part);
    VOXCYCLE_REQUIRE(extent > 0,
                     location << ": '" << part << "' is no extent. Give positive whole numbers.");
    field.shape.push_back(*extent);
  }
  VOXCYCLE_REQUIRE(field.shape.size() == 3,
                   location << ": the shape has " << field.shape.size()
                            << " axes. Give three, as they are stored, the slowest first, e.g. "
                               "64,64,32.");
  auto const& number = find_number(location, parts.type);
  PlainFile file(parts.path);
  auto const order = parts.type.ends_with(kBigEndian) ? ByteOrder::big : ByteOrder::little;
  if (how.rows) field.rows = how.rows(field.shape);
  field.values = read_rest({file.in, file.bytes}, parts.path, field.shape, number, order,
                           field.rows.value_or(Planes{0, field.shape[0]}));
  return field;
}

}  // namespace voxcycle
