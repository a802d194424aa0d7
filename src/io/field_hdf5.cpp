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

StoredField read_hdf5_field(std::string const& location, StoredRead const& how) {
  auto const [array_location, sample] = split_entry(location);
  auto const where = *hdf5::parse_location(array_location);
  auto const& path = where.path;
  auto const file = hdf5::File::open(path, hdf5::kMakeAgain, how.external);
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
  require_possible(field.shape, path + ":/" + dataset, Planes{0, 1});
  if (how.rows) field.rows = how.rows(field.shape);
  Planes const rows = field.rows.value_or(Planes{0, field.shape[0]});
  hdf5::Shape start{rows.begin, 0, 0}, part{rows.count, field.shape[1], field.shape[2]};
  require_possible(field.shape, path + ":/" + dataset, rows);
  field.values.resize(hdf5::element_count(part));
  if (sample) {
    VOXCYCLE_REQUIRE(*sample < array.shape()[0], path << ":/" << dataset << ": there is no entry "
                                                      << *sample << " in the shape "
                                                      << hdf5::to_string(array.shape())
                                                      << ". Entries count from 0.");
    start.insert(start.begin(), *sample);
    part.insert(part.begin(), 1);
  }
  array.read_box(start, part, field.values);
  return field;
}

}  // namespace voxcycle
