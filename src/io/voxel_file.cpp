// SPDX-License-Identifier: BSD-3-Clause
#include "io/voxel_file.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "io/field_formats.hpp"
#include "io/hdf5_location.hpp"
#include "io/plain_numbers.hpp"

namespace voxcycle {
namespace {

hdf5::Location parse(std::string const& text) {
  auto location = hdf5::parse_location(text);
  VOXCYCLE_REQUIRE(location, "'" << text
                                 << "' does not name voxel arrays. Give PATH:/dataset, e.g. "
                                 << "fields.h5:/nu.");
  return std::move(*location);
}

}  // namespace

struct VoxelFile::Impl {
  explicit Impl(hdf5::Location const& location)
      : file(hdf5::File::open(location.path)),
        dataset(hdf5::dataset_of(file, location)),
        array(file.open_numbers(dataset)) {
    auto const label = location.path + ":/" + dataset;
    hdf5::Shape const shape = array.shape();
    auto const axes = static_cast<std::ptrdiff_t>(shape.size());
    bool fits = axes >= 3 && *std::min_element(shape.begin(), shape.end()) > 0;
    if (fits) {
      auto const is_long = [](std::int64_t extent) { return extent > 1; };
      fits = std::count_if(shape.begin(), shape.end() - 3, is_long) <= 1;
      sample_axis = std::find_if(shape.begin(), shape.end() - 3, is_long) - shape.begin();
      samples = leading_count(shape);
      std::copy(shape.end() - 3, shape.end(), grid.voxels.begin());
    }
    VOXCYCLE_REQUIRE(fits, label << ": has the shape " << hdf5::to_string(shape)
                                 << ". Store [samples, nx, ny, nz], or [nx, ny, nz] for one "
                                    "sample; other axes must have the length 1.");
    axis_count = shape.size();
  }

  hdf5::File file;
  std::string dataset;
  hdf5::NumberArray array;
  std::size_t axis_count = 0;
  std::ptrdiff_t sample_axis = 0;  ///< the first of the box's where there is one sample
  Grid3 grid;
  std::int64_t samples = 0;
};

VoxelFile::VoxelFile(std::string const& location)
    : impl_(std::make_unique<Impl>(parse(location))) {}
VoxelFile::~VoxelFile() = default;

Grid3 const& VoxelFile::grid() const {
  return impl_->grid;
}

std::int64_t VoxelFile::samples() const {
  return impl_->samples;
}

std::vector<float> VoxelFile::read(std::int64_t index, std::int64_t first,
                                   std::int64_t count) const {
  auto const [nx, ny, nz] = grid().voxels;
  VOXCYCLE_REQUIRE(first >= 0 && count > 0 && first + count <= nx,
                   impl_->file.path() << ": there are no planes " << first << " to "
                                      << first + count - 1 << ", it holds " << nx << '.');
  VOXCYCLE_REQUIRE(index >= 0 && index < samples(), impl_->file.path()
                                                        << ": there is no sample " << index
                                                        << ", it holds " << samples() << '.');
  require_possible({count, ny, nz}, impl_->file.path());
  std::vector<float> values(static_cast<std::size_t>(count * ny * nz));
  hdf5::Shape start(impl_->axis_count, 0), extents(impl_->axis_count, 1);
  auto const box = impl_->axis_count - 3;
  if (samples() > 1) start[static_cast<std::size_t>(impl_->sample_axis)] = index;
  start[box] = first;
  extents[box] = count;
  extents[box + 1] = ny;
  extents[box + 2] = nz;
  impl_->array.read_box(start, extents, values);
  return values;
}

}  // namespace voxcycle
