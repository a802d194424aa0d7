// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/io/voxel_file.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "io/hdf5_location.hpp"

namespace voxcycle {
namespace {

hdf5::Location parse(std::string const& text) {
  auto location = hdf5::parse_location(text);
  VOXCYCLE_REQUIRE(location, "'" << text
                                 << "' does not name voxel arrays. Give PATH:/dataset, e.g. "
                                 << "fields.h5:/nu.");
  return std::move(*location);
}

hdf5::NumberArray open_array(hdf5::File const& file, std::string const& name) {
  hdf5::require_dataset(file, name);
  return file.open_numbers(name);
}

}  // namespace

struct VoxelFile::Impl {
  explicit Impl(hdf5::Location const& location)
      : file(hdf5::File::open(location.path)), array(open_array(file, location.dataset)) {
    auto const label = location.path + ":/" + location.dataset;
    hdf5::Shape shape = array.shape();
    VOXCYCLE_REQUIRE((shape.size() == 3 || shape.size() == 4) &&
                         *std::min_element(shape.begin(), shape.end()) > 0,
                     label << ": has the shape " << hdf5::to_string(shape)
                           << ". Store [samples, nx, ny, nz], or [nx, ny, nz] for one sample.");
    single = shape.size() == 3;
    if (single) shape.insert(shape.begin(), 1);
    samples = shape[0];
    std::copy(shape.begin() + 1, shape.end(), grid.voxels.begin());
  }

  hdf5::File file;
  hdf5::NumberArray array;
  bool single = false;  ///< no axis of samples
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
  std::vector<float> values(static_cast<std::size_t>(count * ny * nz));
  if (impl_->single) {
    impl_->array.read_box({first, 0, 0}, {count, ny, nz}, values);
  } else {
    impl_->array.read_box({index, first, 0, 0}, {1, count, ny, nz}, values);
  }
  return values;
}

}  // namespace voxcycle
