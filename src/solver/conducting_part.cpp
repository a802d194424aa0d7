// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/conducting_part.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

/// Bodies of voxels with nu > 0.
class Bodies {
 public:
  Bodies(Grid3 const& grid, at::Tensor const& nu, bool share_nodes)
      : n_(grid.voxels), state_(static_cast<std::size_t>(grid.voxel_count()), empty) {
    auto const* const values = nu.const_data_ptr<double>();
    for (std::size_t i = 0; i < state_.size(); ++i) {
      if (values[i] > 0.0) state_[i] = unseen;
    }
    for (std::int64_t x = -1; x <= 1; ++x) {
      for (std::int64_t y = -1; y <= 1; ++y) {
        for (std::int64_t z = -1; z <= 1; ++z) {
          std::int64_t const steps = x * x + y * y + z * z;
          if (steps == 1 || (steps > 1 && share_nodes)) steps_.push_back({x, y, z});
        }
      }
    }
  }

  /// Marks all of the body that holds a voxel, if that is not marked. @return voxels of it
  std::int64_t mark(std::int64_t voxel, char as) {
    if (state_[voxel] != unseen) return 0;
    std::int64_t count = 0;
    state_[voxel] = as;
    stack_.assign(1, voxel);
    while (!stack_.empty()) {
      std::int64_t const at = stack_.back();
      stack_.pop_back();
      ++count;
      std::int64_t const x = at / (n_[1] * n_[2]), y = at / n_[2] % n_[1], z = at % n_[2];
      for (auto const& [dx, dy, dz] : steps_) {
        if (x + dx < 0 || x + dx >= n_[0] || y + dy < 0 || y + dy >= n_[1]) continue;
        if (z + dz < 0 || z + dz >= n_[2]) continue;
        std::int64_t const other = at + (dx * n_[1] + dy) * n_[2] + dz;
        if (state_[other] != unseen) continue;
        state_[other] = as;
        stack_.push_back(other);
      }
    }
    return count;
  }

  /// Those with a voxel at a face of the box.
  void mark_from(int axis, int side, char as) {
    std::array<std::int64_t, 3> begin{}, end = n_;
    begin[axis] = side == 0 ? 0 : n_[axis] - 1;
    end[axis] = begin[axis] + 1;
    for (std::int64_t x = begin[0]; x < end[0]; ++x) {
      for (std::int64_t y = begin[1]; y < end[1]; ++y) {
        for (std::int64_t z = begin[2]; z < end[2]; ++z) mark((x * n_[1] + y) * n_[2] + z, as);
      }
    }
  }

  /// Marked voxels can be met again.
  void unmark(char marked) { std::replace(state_.begin(), state_.end(), marked, unseen); }

  std::int64_t count(char state) const { return std::count(state_.begin(), state_.end(), state); }
  std::vector<char> const& states() const { return state_; }

  static constexpr char empty = 0, unseen = 1, kept = 2, dropped = 3;

 private:
  std::array<std::int64_t, 3> n_;
  std::vector<char> state_;
  std::vector<std::array<std::int64_t, 3>> steps_;
  std::vector<std::int64_t> stack_;
};

/// What is marked as kept, and counts of the rest.
ConductingPart part_of(Bodies& bodies, at::Tensor const& nu) {
  ConductingPart part{.nu = nu, .empty_voxels = bodies.count(Bodies::empty)};
  auto const voxels = std::ssize(bodies.states());
  for (std::int64_t i = 0; i < voxels; ++i) {
    std::int64_t const of_body = bodies.mark(i, Bodies::dropped);
    part.dropped_voxels += of_body;
    part.dropped_bodies += of_body > 0 ? 1 : 0;
  }
  if (part.dropped_voxels == 0) return part;
  part.nu = nu.clone();
  auto* const values = part.nu.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i < voxels; ++i) {
    if (bodies.states()[i] == Bodies::dropped) values[i] = 0.0;
  }
  return part;
}

void require_fits(Grid3 const& grid, at::Tensor const& nu) {
  VOXCYCLE_REQUIRE(nu.numel() == grid.voxel_count() && nu.scalar_type() == at::kDouble &&
                       nu.is_contiguous() && nu.is_cpu(),
                   "nu has shape " << nu.sizes() << " and type " << nu.scalar_type()
                                   << ". Pass one sample of " << grid.name()
                                   << " voxels in float64 on the CPU.");
}

}  // namespace

ConductingPart conducting_part(Grid3 const& grid, Boundary const& boundary, Scheme scheme,
                               at::Tensor const& nu) {
  require_fits(grid, nu);
  if (nu.min().item<double>() > 0.0) return {.nu = nu};
  Bodies bodies(grid, nu, scheme == Scheme::q1);
  for (int axis = 0; axis < 3; ++axis) {
    for (int side = 0; side < 2; ++side) {
      bool const holds = boundary.face(axis, side).kind == FaceKind::dirichlet;
      if (holds) bodies.mark_from(axis, side, Bodies::kept);
    }
  }
  if (!boundary.has_dirichlet()) {
    std::int64_t largest = 0, seed = 0;
    for (std::int64_t i = 0; i < grid.voxel_count(); ++i) {
      std::int64_t const size = bodies.mark(i, Bodies::kept);
      if (size > largest) seed = i;
      largest = std::max(largest, size);
    }
    bodies.unmark(Bodies::kept);
    bodies.mark(seed, Bodies::kept);
  }
  return part_of(bodies, nu);
}

ConductingPart spanning_part(Grid3 const& grid, int axis, at::Tensor const& nu) {
  require_fits(grid, nu);
  if (nu.min().item<double>() > 0.0) return {.nu = nu};
  Bodies bodies(grid, nu, /*share_nodes=*/false);
  // All bodies from the one face; of these, all from the other.
  bodies.mark_from(axis, 0, Bodies::kept);
  ConductingPart const from_first = part_of(bodies, nu);
  Bodies rest(grid, from_first.nu, /*share_nodes=*/false);
  rest.mark_from(axis, 1, Bodies::kept);
  ConductingPart part = part_of(rest, from_first.nu);
  part.empty_voxels = from_first.empty_voxels;
  part.dropped_voxels += from_first.dropped_voxels;
  part.dropped_bodies += from_first.dropped_bodies;
  return part;
}

}  // namespace voxcycle
