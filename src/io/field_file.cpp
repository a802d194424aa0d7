// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/io/field_file.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string_view>
#include <utility>

#include "io/field_formats.hpp"

namespace voxcycle {
namespace {

/// Of formats that lead to no other file and are read whole.
template <StoredField (*kRead)(std::string const&)>
StoredField read_own(std::string const& location, StoredRead const& /*how*/) {
  return kRead(location);
}

/// One line a format; the first that matches reads.
std::vector<FieldFormat> const kFormats{
    {"FILE.vtkhdf", is_vtkhdf_location, read_vtkhdf_field, /*has_own_axes=*/true},
    {"FILE.npy", is_numpy_location, read_numpy_field},
    {"FILE.npz", is_numpy_archive_location, read_own<read_numpy_archive_field>},
    {"FILE.tif", is_tiff_location, read_own<read_tiff_field>},
    {"FILE.raw:64,64,64:float32", is_raw_location, read_raw_field},
    {"FILE.h5:/path", is_hdf5_location, read_hdf5_field},
};

FieldFormat const& find_format(std::string const& location) {
  std::vector<std::string> examples;
  for (auto const& format : kFormats) {
    if (format.matches(location)) return format;
    examples.push_back(format.example);
  }
  throw Error("'" + location + "' does not name a field of a known format. Give one of " +
              join(examples) + ".");
}

/// The array [x, y, z] of what is stored with `axes` (slowest first), e.g. "zyx".
std::vector<double> reordered(StoredField& stored, std::string const& axes, Grid3 const& grid) {
  if (axes == "xyz") return std::move(stored.values);
  std::array<std::int64_t, 3> stride{};  // along x, y, z in what is stored
  std::int64_t step = 1;
  for (std::size_t k = 3; k-- > 0; step *= stored.shape[k]) {
    stride[static_cast<std::size_t>(axes[k] - 'x')] = step;
  }
  auto const [all, ny, nz] = grid.voxels;
  std::int64_t const nx = stored.rows ? stored.rows->count : all;
  std::vector<double> values(stored.values.size());
  double* out = values.data();
  for (std::int64_t x = 0; x < nx; ++x) {
    for (std::int64_t y = 0; y < ny; ++y) {
      double const* in = stored.values.data() + x * stride[0] + y * stride[1];
      for (std::int64_t z = 0; z < nz; ++z) *out++ = in[z * stride[2]];
    }
  }
  return values;
}

/// Voxels along x, y and z of an array with these axes.
Grid3 grid_of(hdf5::Shape const& shape, std::string const& axes) {
  Grid3 grid;
  for (std::size_t k = 0; k < 3; ++k) {
    grid.voxels[static_cast<std::size_t>(axes[k] - 'x')] = shape[k];
  }
  return grid;
}

void require_axes(std::string const& axes) {
  std::string sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  VOXCYCLE_REQUIRE(sorted == "xyz", "axes '" << axes
                                             << "' are no order of x, y and z. Name the axes of "
                                                "the stored array, e.g. zyx for array[z, y, x].");
}

/// Cubes, so many that the longest edge is 1.
std::array<double, 3> cubic_spacing(std::array<std::int64_t, 3> const& voxels) {
  double const h = 1.0 / static_cast<double>(*std::max_element(voxels.begin(), voxels.end()));
  return {h, h, h};
}

struct Unsound {
  std::int64_t zero = 0, negative = 0, nan = 0, infinite = 0;
  std::int64_t first = -1;  ///< index of the first
};

template <class Sound>
Unsound count_unsound(std::span<double const> values, Sound const& sound) {
  Unsound found;
  for (std::size_t k = 0; k < values.size(); ++k) {
    double const value = values[k];
    if (sound(value)) continue;
    if (found.first < 0) found.first = static_cast<std::int64_t>(k);
    ++(std::isnan(value)   ? found.nan
       : std::isinf(value) ? found.infinite
       : value < 0.0       ? found.negative
                           : found.zero);
  }
  return found;
}

std::string kinds_of(Unsound const& found) {
  std::vector<std::string> kinds;
  auto const add = [&](std::int64_t count, char const* name) {
    if (count > 0) kinds.push_back(std::to_string(count) + " " + name);
  };
  add(found.zero, "zero");
  add(found.negative, "negative");
  add(found.nan, "not a number");
  add(found.infinite, "infinite");
  return join(kinds);
}

}  // namespace

std::pair<std::string, std::optional<std::int64_t>> split_entry(std::string const& location) {
  auto const bracket = location.rfind('[');
  if (bracket == std::string::npos || !location.ends_with(']')) return {location, {}};
  auto const inside = std::string_view(location).substr(bracket + 1, location.size() - bracket - 2);
  auto const sample = parse_number<std::int64_t>(inside);
  VOXCYCLE_REQUIRE(sample >= 0,
                   location << ": what stands in brackets is no sample. Give a number from 0 on.");
  return {location.substr(0, bracket), sample};
}

std::int64_t leading_count(hdf5::Shape const& shape) {
  return std::accumulate(shape.begin(), shape.end() - 3, std::int64_t{1}, std::multiplies<>());
}

bool is_field_location(std::string const& location) {
  return std::any_of(kFormats.begin(), kFormats.end(),
                     [&](FieldFormat const& format) { return format.matches(location); });
}

std::string place_text(Grid3 const& grid, std::int64_t index) {
  auto const ny = grid.voxels[1], nz = grid.voxels[2];
  return format("(x, y, z) = (%ld, %ld, %ld)", static_cast<long>(index / (ny * nz)),
                static_cast<long>(index / nz % ny), static_cast<long>(index % nz));
}

bool has_own_axes(std::string const& location) {
  return find_format(location).has_own_axes;
}

VoxelField read_voxel_field(std::string const& location, VoxelFieldOptions const& options) {
  require_axes(options.axes);
  FieldFormat const& format = find_format(location);
  VOXCYCLE_REQUIRE(!format.has_own_axes || options.axes == "xyz",
                   location << ": the format says which axis is which. Leave out the axes ("
                            << options.axes << ").");
  StoredRead how{.external = options.external, .rows = {}};
  if (options.planes && options.axes.front() == 'x') {
    how.rows = [&](hdf5::Shape const& shape) {
      return options.planes(grid_of(shape, options.axes));
    };
  }
  StoredField stored = format.read(location, how);
  VOXCYCLE_REQUIRE(
      stored.shape.size() == 3 && *std::min_element(stored.shape.begin(), stored.shape.end()) > 0,
      location << ": has the shape " << hdf5::to_string(stored.shape)
               << ". A field has three axes, none of them empty.");
  std::string axes = options.axes;
  if (stored.reversed) std::reverse(axes.begin(), axes.end());
  VoxelField field;
  field.grid = grid_of(stored.shape, axes);
  field.told_spacing = stored.spacing && !options.spacing;
  auto const spacing =
      options.spacing.value_or(stored.spacing.value_or(cubic_spacing(field.grid.voxels)));
  for (std::size_t k = 0; k < 3; ++k) {
    VOXCYCLE_REQUIRE(spacing[k] > 0 && std::isfinite(spacing[k]),
                     location << ": the spacing " << spacing[k] << " along "
                              << "xyz"[k] << " is not positive and finite. Correct it.");
    field.grid.lengths[k] = spacing[k] * static_cast<double>(field.grid.voxels[k]);
  }
  for (std::size_t k = 0; k < 3; ++k) {  // in the unit of the lengths
    field.origin[k] = stored.origin[k] * (stored.spacing ? spacing[k] / (*stored.spacing)[k] : 1.0);
  }
  field.values = reordered(stored, axes, field.grid);
  field.planes = stored.rows.value_or(Planes{0, field.grid.voxels[0]});
  if (options.planes) keep_planes(field, options.planes(field.grid));
  return field;
}

void keep_planes(VoxelField& field, Planes const& planes) {
  if (planes == field.planes) return;
  auto const plane = field.grid.voxels[1] * field.grid.voxels[2];
  auto const begin = field.values.begin() + (planes.begin - field.planes.begin) * plane;
  field.values = std::vector<double>(begin, begin + planes.count * plane);
  field.planes = planes;
}

void require_not_negative(std::string const& label, Grid3 const& grid, std::span<double const> nu,
                          std::int64_t first) {
  auto const found =
      count_unsound(nu, [](double value) { return value >= 0.0 && std::isfinite(value); });
  VOXCYCLE_REQUIRE(
      found.first < 0,
      label << " has values that are negative or not finite (" << kinds_of(found) << ", of "
            << nu.size() << "; the first at " << place_text(grid, first + found.first)
            << "; the equation has no solution with them). Correct the coefficient, or "
               "give its labels values (--phases).");
}

void require_finite(std::string const& label, Grid3 const& grid, std::span<double const> f,
                    std::int64_t first) {
  auto const found = count_unsound(f, [](double value) { return std::isfinite(value); });
  VOXCYCLE_REQUIRE(found.first < 0, label << " has values that are not finite (" << kinds_of(found)
                                          << ", of " << f.size() << "; the first at "
                                          << place_text(grid, first + found.first)
                                          << "). Correct the field.");
}

std::array<double, 3> parse_spacing(std::string const& name, std::string const& text) {
  std::vector<double> values;
  for (auto const& part : split_list(text)) {
    double const value = parse_number<double>(part).value_or(0.0);
    values.push_back(value > 0 && std::isfinite(value) ? value : 0.0);
  }
  bool const valid = (values.size() == 1 || values.size() == 3) &&
                     std::find(values.begin(), values.end(), 0.0) == values.end();
  VOXCYCLE_REQUIRE(valid, name << " = '" << text
                               << "' is no spacing. Give the edges of a voxel along x, y and z, "
                                  "e.g. 0.1, 0.1, 0.2, or one number for all.");
  if (values.size() == 1) values.assign(3, values.front());
  return {values[0], values[1], values[2]};
}

}  // namespace voxcycle
