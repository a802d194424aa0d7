// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/dataset/held_out.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

void require_references(ShardInfo const& info) {
  VOXCYCLE_REQUIRE(info.has_reference,
                   "the " << info.split << " shards of grid " << info.grid.name()
                          << " hold no reference solutions (errors cannot be measured). "
                             "Training samples get them with data.train_references = yes "
                             "and another data.directory.");
}

/// Samples [begin, end) of those that `set` holds, without a copy.
HeldOutSet part_of(HeldOutSet const& set, std::int64_t begin, std::int64_t end) {
  auto const part = [&](at::Tensor const& all) {
    return all.defined() ? all.narrow(0, begin, end - begin) : all;
  };
  return {set.grid, part(set.omega), part(set.nu), part(set.f), part(set.u_ref)};
}

/// Shards and the parts of them that were read and kept.
struct Shelf {
  Shelf(ShardList const& list, Planes const& planes_in) : shards(list), planes(planes_in) {
    require_references(shards.info());
    auto const& info = shards.info();
    Grid3 const grid = on_planes(info.grid, planes);
    keeps = held_out_is_kept(shards.samples() * held_out_bytes(grid, info.has_source));
  }

  HeldOutSet read(std::int64_t begin, std::int64_t end) {
    for (auto const& [first, set] : kept) {
      if (first <= begin && end <= first + set.nu.size(0))
        return part_of(set, begin - first, end - first);
    }
    auto set = read_held_out(shards, begin, end, planes);
    if (keeps) kept.push_back({begin, set});
    return set;
  }

  /// A part of the shards, from sample `first` on.
  struct Part {
    std::int64_t first;
    HeldOutSet set;
  };

  ShardSet shards;
  Planes planes;
  bool keeps = false;
  std::vector<Part> kept;
};

}  // namespace

std::int64_t held_out_bytes(Grid3 const& grid, bool has_source) {
  std::int64_t const inputs = has_source ? 2 : 1;  // nu, f
  return inputs * grid.voxel_count() * std::int64_t{sizeof(float)} +
         grid.node_count() * std::int64_t{sizeof(double)};
}

bool held_out_is_kept(std::int64_t bytes) {
  constexpr std::int64_t maximum = std::int64_t{1} << 30;
  return bytes <= maximum;
}

HeldOutSet read_held_out(ShardSet& shards, std::int64_t begin, std::int64_t end,
                         Planes const& planes) {
  ShardInfo const& info = shards.info();
  require_references(info);
  if (end < 0) end = shards.samples();
  VOXCYCLE_REQUIRE(begin >= 0 && begin <= end && end <= shards.samples(),
                   "held-out samples " << begin << " to " << end << " of " << shards.samples()
                                       << " do not exist.");
  std::int64_t const count = end - begin;
  Grid3 const grid = on_planes(info.grid, planes);
  HeldOutSet set;
  set.grid = info.grid;
  set.omega = at::empty({count, info.parameters}, at::kDouble);
  set.nu = at::empty(grid.voxel_shape(count), at::kFloat);
  set.f = at::empty(info.has_source ? set.nu.sizes() : at::IntArrayRef{0}, at::kFloat);
  set.u_ref = at::empty(grid.node_shape(count), at::kDouble);
  auto* omega = set.omega.mutable_data_ptr<double>();
  auto* nu = set.nu.mutable_data_ptr<float>();
  auto* f = set.f.mutable_data_ptr<float>();
  auto* u_ref = set.u_ref.mutable_data_ptr<double>();
  for (std::int64_t index = begin; index < end; ++index) {
    ShardSample const sample = shards.read(index, ReadReference::yes, planes);
    omega = std::copy(sample.omega.begin(), sample.omega.end(), omega);
    nu = std::copy(sample.nu.begin(), sample.nu.end(), nu);
    f = std::copy(sample.f.begin(), sample.f.end(), f);
    u_ref = std::copy(sample.u_ref.begin(), sample.u_ref.end(), u_ref);
  }
  if (!info.has_source) set.f = at::Tensor();
  return set;
}

HeldOutSamples held_out_samples(ShardList const& list, Planes const& planes) {
  auto const shelf = std::make_shared<Shelf>(list, planes);
  return {shelf->shards.info().grid, planes, shelf->shards.samples(),
          [shelf](std::int64_t begin, std::int64_t end) { return shelf->read(begin, end); }};
}

HeldOutSamples held_out_samples(HeldOutSet const& set) {
  return {set.grid, {}, set.nu.size(0), [set](std::int64_t begin, std::int64_t end) {
            return part_of(set, begin, end);
          }};
}

}  // namespace voxcycle
