// SPDX-License-Identifier: BSD-3-Clause
// FILE.h5:/path, FILE.h5:/path[sample] and FILE.h5
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include "io/field_formats.hpp"
#include "io/hdf5_location.hpp"
#include "io/plain_numbers.hpp"

namespace voxcycle {

bool is_hdf5_location(std::string const& location) {
  return hdf5::parse_location(location).has_value();
}

StoredField read_hdf5_field(std::string const& location, External external) {
  auto const [array_location, sample] = split_entry(location);
  auto const where = *hdf5::parse_location(array_location);
  auto const& path = where.path;
  auto const file = hdf5::File::open(path, hdf5::kMakeAgain, external);
  auto const dataset = hdf5::dataset_of(file, where);
  auto const array = file.open_numbers(dataset);
  StoredField field;
  field.shape = array.shape();
  bool const fits = field.shape.size() == (sample ? 4U : 3U);
  VOXCYCLE_REQUIRE(fits, path << ":/" << dataset << ": has the shape "
                              << hdf5::to_string(field.shape)
                              << ". Store [nx, ny, nz], or [samples, nx, ny, nz] and name one, "
                                 "e.g. :/"
                              << dataset << "[0].");
  if (sample) field.shape.erase(field.shape.begin());
  require_possible(field.shape, path + ":/" + dataset);
  field.values.resize(hdf5::element_count(field.shape));
  if (sample) {
    array.read_row(*sample, field.values);
  } else {
    array.read(field.values);
  }
  return field;
}

}  // namespace voxcycle
