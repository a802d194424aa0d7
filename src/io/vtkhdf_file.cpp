// SPDX-License-Identifier: BSD-3-Clause
// Format: https://docs.vtk.org/en/latest/design_documents/VTKFileFormats.html, "VTKHDF".
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <array>

#include "io/field_formats.hpp"
#include "io/hdf5.hpp"
#include "io/plain_numbers.hpp"
#include "io/solution_formats.hpp"

namespace voxcycle {
namespace {

constexpr char const* kRoot = "VTKHDF";
std::string const kCellData = "VTKHDF/CellData/";
constexpr char const* kExtension = ".vtkhdf";
constexpr std::array<double, 9> kIdentity{1, 0, 0, 0, 1, 0, 0, 0, 1};

template <class T, std::size_t N>
void write_array(hdf5::Group& group, char const* name, std::array<T, N> const& values) {
  group.write_attribute(name, std::span<T const>(values));
}

void write_contents(hdf5::File& file, SolutionFile const& solution) {
  auto const& grid = solution.grid;
  auto const& n = grid.voxels;
  hdf5::Group root = file.create_group(kRoot);
  root.write_attribute("Type", "ImageData", hdf5::Charset::ascii);
  write_array<std::int64_t, 2>(root, "Version", {1, 0});
  write_array<std::int64_t, 6>(root, "WholeExtent", {0, n[0], 0, n[1], 0, n[2]});
  write_array(root, "Origin", solution.origin);
  write_array<double, 3>(root, "Spacing", {grid.spacing(0), grid.spacing(1), grid.spacing(2)});
  write_array(root, "Direction", kIdentity);

  for (auto const& [name, value] : figures_of(solution)) {
    root.write_attribute(name, std::span<double const>(&value, 1));
  }
  for (auto const& array : arrays_of(solution)) {
    auto const extents = extents_of(array, grid);
    hdf5::Shape shape{extents[2], extents[1], extents[0]};
    if (array.components > 1) shape.push_back(array.components);
    auto const data = array.on_nodes ? "/PointData/" : "/CellData/";
    auto dataset = file.create_dataset(kRoot + (data + array.name), hdf5::Number::float64, shape);
    for_planes_of_z(array, grid,
                    [&](std::int64_t z, auto plane) { dataset.write_row<double>(z, plane); });
  }
}

/// The cell array that a location names, "" if none.
std::string name_in(std::string const& location) {
  auto const colon = location.rfind(std::string(kExtension) + ':');
  if (colon == std::string::npos) return "";
  auto name = location.substr(colon + std::string(kExtension).size() + 1);
  std::string const full = "/" + kCellData;
  return name.starts_with(full) ? name.substr(full.size()) : name;
}

/// Names of the arrays in CellData.
std::vector<std::string> cell_arrays(hdf5::File const& file) {
  std::vector<std::string> names;
  for (auto const& name : file.dataset_names()) {
    if (name.starts_with(kCellData)) names.push_back(name.substr(kCellData.size()));
  }
  return names;
}

/// The array named, else nu, else the only one.
std::string choose_array(hdf5::File const& file, std::string const& wanted) {
  auto const names = cell_arrays(file);
  std::string chosen = !wanted.empty()                      ? wanted
                       : file.has_dataset(kCellData + "nu") ? "nu"
                       : names.size() == 1U                 ? names.front()
                                                            : "";
  VOXCYCLE_REQUIRE(!chosen.empty() && file.has_dataset(kCellData + chosen),
                   file.path() << ": there is no cell array '" << (chosen.empty() ? "nu" : chosen)
                               << "'. It holds: " << (names.empty() ? "none" : join(names))
                               << "; name one as FILE.vtkhdf:NAME.");
  return chosen;
}

}  // namespace

void write_vtkhdf(std::string const& temporary, std::string const& path,
                  SolutionFile const& solution) {
  auto file = hdf5::File::create(temporary, path);
  write_contents(file, solution);
  file.close();
}

bool is_vtkhdf_location(std::string const& location) {
  return location.ends_with(kExtension) ||
         location.find(std::string(kExtension) + ':') != std::string::npos;
}

StoredField read_vtkhdf_field(std::string const& location, StoredRead const& how) {
  std::string const path =
      location.substr(0, location.rfind(kExtension) + std::string(kExtension).size());
  auto const file = hdf5::File::open(path, hdf5::kMakeAgain, how.external);
  VOXCYCLE_REQUIRE(file.has(kRoot), path << ": is HDF5, but has no group /VTKHDF. Name a dataset "
                                            "of another kind of file as FILE.h5:/path.");
  auto const root = file.open_group(kRoot);
  auto const type = root.has_attribute("Type") ? root.read_text_attribute("Type") : "nothing";
  VOXCYCLE_REQUIRE(type == "ImageData", path << ": holds " << type << ". Store ImageData.");
  if (root.has_attribute("Direction")) {
    auto const direction = root.read_number_attribute("Direction", 9);
    VOXCYCLE_REQUIRE(std::equal(direction.begin(), direction.end(), kIdentity.begin()),
                     path << ": its axes are turned (Direction is not the identity). Store the "
                             "field along its own axes.");
  }
  auto const extent = root.read_number_attribute("WholeExtent", 6);
  auto const spacing = root.read_number_attribute("Spacing", 3);
  auto const name = choose_array(file, name_in(location));
  auto const array = file.open_numbers(kCellData + name);
  StoredField field;
  field.reversed = true;
  field.shape = array.shape();
  field.spacing = {spacing[0], spacing[1], spacing[2]};
  std::vector<double> origin(3, 0.0);
  if (root.has_attribute("Origin")) origin = root.read_number_attribute("Origin", 3);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    field.origin[axis] = origin[axis] + extent[2 * axis] * spacing[axis];
  }
  for (std::size_t axis = 3; axis-- > 0;) {
    auto const voxels = static_cast<std::int64_t>(extent[2 * axis + 1] - extent[2 * axis]);
    VOXCYCLE_REQUIRE(field.shape.size() == 3 && field.shape[2 - axis] == voxels,
                     path << ": the cell array " << name << " has the shape "
                          << hdf5::to_string(field.shape) << " (z, y, x), which does not fit the "
                          << "extent of the image, " << voxels << " voxels along "
                          << "xyz"[axis] << ". Write it as a scalar on the cells.");
  }
  require_possible(field.shape, path + ": the cell array " + name);
  field.values.resize(hdf5::element_count(field.shape));
  array.read(field.values);
  return field;
}

}  // namespace voxcycle
