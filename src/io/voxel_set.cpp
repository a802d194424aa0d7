// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/io/voxel_set.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "io/field_formats.hpp"
#include "io/field_locations.hpp"
#include "io/voxel_file.hpp"

namespace voxcycle {
namespace {

/// So many voxels, 1 GiB of them, are looked at before anything is made of them.
constexpr std::int64_t kLookedAt = std::int64_t{1} << 28;

/// A location and the fields there.
struct Part {
  std::string location;
  std::shared_ptr<VoxelFile> arrays;  ///< of HDF5: planes are read as they are needed
  std::int64_t first = 0, count = 1;
};

Part open_part(std::string const& location) {
  Part part{.location = location, .arrays = nullptr};
  if (is_hdf5_location(location) && !location.ends_with(']')) {
    part.arrays = std::make_shared<VoxelFile>(location);
    part.count = part.arrays->samples();
    if (part.count == 1) part.arrays.reset();  // of thousands of files not all stay open
  } else if (is_numpy_location(location)) {
    part.count = count_numpy_fields(location);
  }
  return part;
}

/// @throws Error for voxels that are no cubes: the unit box has no room for them.
std::vector<float> read_whole(std::string const& location, Grid3& grid) {
  auto const field = read_voxel_field(location);
  double const h = field.grid.spacing(0);
  for (int axis = 1; axis < 3; ++axis) {
    VOXCYCLE_REQUIRE(std::abs(field.grid.spacing(axis) - h) <= 1e-6 * h,
                     location << ": its voxels have the edges " << h << " and "
                              << field.grid.spacing(axis)
                              << ", but training takes cubes. Resample the field.");
  }
  grid.voxels = field.grid.voxels;
  return {field.values.begin(), field.values.end()};
}

}  // namespace

struct VoxelSet::Impl {
  Part const& part_of(std::int64_t index) const;
  std::vector<float> planes(std::int64_t index, std::int64_t first, std::int64_t count) const;
  std::string name_of(std::int64_t index) const;
  void give_values(std::vector<float>& values, std::int64_t index) const;

  std::vector<Part> parts;
  Grid3 grid;
  std::int64_t samples = 0;
  std::optional<Phases> phases;
  std::map<float, float> value_of;

  /// The last one that was read as a whole.
  mutable std::mutex mutex;
  mutable std::int64_t kept_index = -1;
  mutable std::vector<float> kept;
};

Part const& VoxelSet::Impl::part_of(std::int64_t index) const {
  VOXCYCLE_REQUIRE(index >= 0 && index < samples, parts.front().location << ": there is no sample "
                                                                         << index << ", it holds "
                                                                         << samples << '.');
  auto const after =
      std::upper_bound(parts.begin(), parts.end(), index,
                       [](auto value, Part const& part) { return value < part.first; });
  return *std::prev(after);
}

/// A location that holds the sample alone.
std::string VoxelSet::Impl::name_of(std::int64_t index) const {
  Part const& part = part_of(index);
  if (part.count == 1) return part.location;
  return part.location + '[' + std::to_string(index - part.first) + ']';
}

std::vector<float> VoxelSet::Impl::planes(std::int64_t index, std::int64_t first,
                                          std::int64_t count) const {
  Part const& part = part_of(index);
  auto const [nx, ny, nz] = grid.voxels;
  if (part.arrays != nullptr) {
    VOXCYCLE_REQUIRE(part.arrays->grid().voxels == grid.voxels,
                     part.location << ": its fields are " << part.arrays->grid().name()
                                   << ", the first is " << grid.name()
                                   << ". Give fields of one shape.");
    return part.arrays->read(index - part.first, first, count);
  }
  VOXCYCLE_REQUIRE(first >= 0 && count > 0 && first + count <= nx,
                   part.location << ": there are no planes " << first << " to " << first + count - 1
                                 << ", it holds " << nx << '.');
  std::lock_guard const lock(mutex);
  if (kept_index != index) {
    Grid3 own = grid;
    kept = read_whole(name_of(index), own);
    kept_index = own.voxels == grid.voxels ? index : -1;
    VOXCYCLE_REQUIRE(kept_index == index,
                     name_of(index) << ": has " << own.name() << " voxels, the first field "
                                    << grid.name() << ". Give fields of one shape.");
  }
  auto const begin = kept.begin() + first * ny * nz;
  return {begin, begin + count * ny * nz};
}

void VoxelSet::Impl::give_values(std::vector<float>& values, std::int64_t index) const {
  if (value_of.empty()) return;
  float last = std::numeric_limits<float>::quiet_NaN(), to = 0.0F;
  for (float& value : values) {
    if (value != last) {
      auto const found = value_of.find(value);
      VOXCYCLE_REQUIRE(found != value_of.end(), name_of(index)
                                                    << ": the label " << shortest_text(value)
                                                    << " has no value. Add " << shortest_text(value)
                                                    << ":VALUE to data.phases.");
      last = value;
      to = found->second;
    }
    value = to;
  }
}

VoxelSet::VoxelSet(std::string const& locations, std::optional<Phases> phases)
    : impl_(std::make_unique<Impl>()) {
  for (auto const& location : field_locations(locations)) {
    Part part = open_part(location);
    part.first = impl_->samples;
    impl_->samples += part.count;
    impl_->parts.push_back(std::move(part));
  }
  auto const& first = impl_->parts.front();
  if (first.arrays != nullptr) {
    impl_->grid = first.arrays->grid();
  } else {
    impl_->kept = read_whole(impl_->name_of(0), impl_->grid);
    impl_->kept_index = 0;
  }
  if (phases) {
    for (auto const& [label, value] : phases->of_labels) {
      impl_->value_of[static_cast<float>(label)] = static_cast<float>(value);
    }
  }
  impl_->phases = std::move(phases);
}

VoxelSet::~VoxelSet() = default;

Grid3 const& VoxelSet::grid() const {
  return impl_->grid;
}

std::int64_t VoxelSet::samples() const {
  return impl_->samples;
}

std::vector<float> VoxelSet::read(std::int64_t index, std::int64_t first,
                                  std::int64_t count) const {
  auto values = impl_->planes(index, first, count);
  impl_->give_values(values, index);
  return values;
}

std::string VoxelSet::doubt() const {
  auto const looked_at = std::min(samples(), kLookedAt / grid().voxel_count());
  std::set<float> absent;
  for (auto const& [label, value] : impl_->value_of) absent.insert(label);
  std::string labels;
  for (std::int64_t index = 0; index < looked_at; ++index) {
    auto const values = impl_->planes(index, 0, grid().voxels[0]);
    for (float const value : values) absent.erase(value);
    if (index > 0 || impl_->phases) continue;
    labels = label_doubt(std::vector<double>(values.begin(), values.end()), "data.phases = ");
    if (!labels.empty()) labels.insert(0, impl_->name_of(index) + ": ");
  }
  if (absent.empty() || looked_at == 0) return labels;
  return "data.phases: the phase " + shortest_text(*absent.begin()) +
         " does not occur in the first " + counted(looked_at, "field", "fields") +
         ". Leave it out, or correct its label.";
}

}  // namespace voxcycle
