// SPDX-License-Identifier: BSD-3-Clause
// FILE.h5:/path and FILE.h5:/path[sample]
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <charconv>

#include "io/field_formats.hpp"
#include "io/hdf5.hpp"

namespace voxcycle {
namespace {

struct Hdf5Location {
  std::string path, dataset;
  std::int64_t sample = -1;  ///< -1: none named
};

Hdf5Location parse(std::string const& location) {
  auto const colon = location.rfind(":/");
  Hdf5Location parsed{location.substr(0, colon), location.substr(colon + 2)};
  auto const bracket = parsed.dataset.rfind('[');
  if (bracket == std::string::npos || !parsed.dataset.ends_with(']')) return parsed;
  auto const* begin = parsed.dataset.data() + bracket + 1;
  auto const* end = parsed.dataset.data() + parsed.dataset.size() - 1;
  auto const [rest, problem] = std::from_chars(begin, end, parsed.sample);
  VOXCYCLE_REQUIRE(problem == std::errc{} && rest == end && parsed.sample >= 0,
                   location << ": what stands in brackets is no sample. Give a number from 0 on.");
  parsed.dataset.resize(bracket);
  return parsed;
}

}  // namespace

bool is_hdf5_location(std::string const& location) {
  auto const colon = location.rfind(":/");
  return colon != std::string::npos && colon > 0 && colon + 2 < location.size();
}

StoredField read_hdf5_field(std::string const& location) {
  auto const [path, dataset, sample] = parse(location);
  auto const file = hdf5::File::open(path);
  auto const names = file.dataset_names();
  VOXCYCLE_REQUIRE(std::find(names.begin(), names.end(), dataset) != names.end(),
                   path << ": there is no dataset /" << dataset << ". It holds: "
                        << (names.empty() ? "none" : "/" + join(names, ", /")) << '.');
  auto const array = file.open_numbers(dataset);
  StoredField field;
  field.shape = array.shape();
  bool const fits = field.shape.size() == (sample < 0 ? 3U : 4U);
  VOXCYCLE_REQUIRE(fits, path << ":/" << dataset << ": has the shape "
                              << hdf5::to_string(field.shape)
                              << ". Store [nx, ny, nz], or [samples, nx, ny, nz] and name one, "
                                 "e.g. :/"
                              << dataset << "[0].");
  if (sample >= 0) field.shape.erase(field.shape.begin());
  field.values.resize(hdf5::element_count(field.shape));
  if (sample >= 0) {
    array.read_row(sample, field.values);
  } else {
    array.read(field.values);
  }
  return field;
}

}  // namespace voxcycle
