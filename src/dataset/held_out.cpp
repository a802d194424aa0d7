// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/dataset/prefetch.hpp"

#include <algorithm>

#include <ATen/ATen.h>

namespace voxcycle {

HeldOutSet read_held_out(ShardSet& shards, std::int64_t most) {
  ShardInfo const& info = shards.info();
  VOXCYCLE_REQUIRE(info.has_reference, "the held-out shards of grid "
                                           << info.grid.name()
                                           << " hold no reference solutions (errors "
                                           << "cannot be measured). Generate them with "
                                           << "references.");
  std::int64_t const count = most < 0 ? shards.samples() : std::min(most, shards.samples());
  Grid3 const& grid = info.grid;
  auto const& n = grid.voxels;
  HeldOutSet set;
  set.grid = grid;
  set.omega = at::empty({count, info.parameters}, at::kDouble);
  set.nu = at::empty({count, 1, n[0], n[1], n[2]}, at::kFloat);
  set.f = at::empty(info.has_source ? set.nu.sizes() : at::IntArrayRef{0}, at::kFloat);
  set.u_ref = at::empty({count, 1, grid.nodes(0), grid.nodes(1), grid.nodes(2)}, at::kDouble);
  auto* omega = set.omega.mutable_data_ptr<double>();
  auto* nu = set.nu.mutable_data_ptr<float>();
  auto* f = set.f.mutable_data_ptr<float>();
  auto* u_ref = set.u_ref.mutable_data_ptr<double>();
  for (std::int64_t index = 0; index < count; ++index) {
    ShardSample const sample = shards.read(index);
    omega = std::copy(sample.omega.begin(), sample.omega.end(), omega);
    nu = std::copy(sample.nu.begin(), sample.nu.end(), nu);
    f = std::copy(sample.f.begin(), sample.f.end(), f);
    u_ref = std::copy(sample.u_ref.begin(), sample.u_ref.end(), u_ref);
  }
  if (!info.has_source) set.f = at::Tensor();
  return set;
}

}  // namespace voxcycle
