// SPDX-License-Identifier: BSD-3-Clause
// FILE.h5:/path, FILE.h5:/path[sample] and FILE.h5
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "io/field_formats.hpp"
#include "io/hdf5_location.hpp"
#include "io/plain_numbers.hpp"

namespace voxcycle {
namespace {

struct EntryLocation {
  hdf5::Location array;
  std::int64_t sample = -1;  ///< -1: none named
};

/// FILE:/path; of files that are HDF5 by their names also FILE and FILE:path.
std::optional<hdf5::Location> locate(std::string const& text) {
  if (auto location = hdf5::parse_location(text)) return location;
  for (std::string const extension : {".h5", ".hdf5"}) {
    auto const at = text.rfind(extension);
    if (at == std::string::npos) continue;
    auto const path = text.substr(0, at + extension.size());
    auto const rest = text.substr(path.size());
    if (rest.empty() || rest == ":/") return hdf5::Location{path, ""};
    if (rest.starts_with(':')) return hdf5::Location{path, rest.substr(1)};
  }
  return {};
}

/// nu, else the only one. @throws Error that lists the datasets where there are several.
std::string choose_dataset(hdf5::File const& file) {
  auto const names = file.dataset_names();
  if (std::binary_search(names.begin(), names.end(), "nu")) return "nu";
  VOXCYCLE_REQUIRE(!names.empty(), file.path() << ": holds no dataset. Check the file.");
  VOXCYCLE_REQUIRE(names.size() == 1, file.path() << ": holds the datasets /" << join(names, ", /")
                                                  << ". Name one, e.g. " << file.path() << ":/"
                                                  << names.front() << '.');
  return names.front();
}

EntryLocation parse(std::string const& text) {
  EntryLocation parsed{*locate(text)};
  std::string& dataset = parsed.array.dataset;
  auto const bracket = dataset.rfind('[');
  if (bracket == std::string::npos || !dataset.ends_with(']')) return parsed;
  auto const inside = std::string_view(dataset).substr(bracket + 1, dataset.size() - bracket - 2);
  auto const sample = parse_number<std::int64_t>(inside);
  VOXCYCLE_REQUIRE(sample >= 0,
                   text << ": what stands in brackets is no sample. Give a number from 0 on.");
  parsed.sample = *sample;
  dataset.resize(bracket);
  return parsed;
}

}  // namespace

bool is_hdf5_location(std::string const& location) {
  return locate(location).has_value();
}

StoredField read_hdf5_field(std::string const& location) {
  auto const [where, sample] = parse(location);
  auto const& path = where.path;
  auto const file = hdf5::File::open(path);
  auto const dataset = where.dataset.empty() ? choose_dataset(file) : where.dataset;
  hdf5::require_dataset(file, dataset);
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
  require_possible(field.shape, path + ":/" + dataset);
  field.values.resize(hdf5::element_count(field.shape));
  if (sample >= 0) {
    array.read_row(sample, field.values);
  } else {
    array.read(field.values);
  }
  return field;
}

}  // namespace voxcycle
