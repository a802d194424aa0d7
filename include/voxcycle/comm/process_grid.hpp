// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/comm/space.hpp"

#include <memory>

namespace voxcycle {

/// How ranks share out the work on a batch: groups of successive ranks compute the same
/// micro-batches together, each of its ranks a slab of their space; the micro-batches are shared
/// out over the groups.
struct ProcessGrid {
  /// Every rank is a group of its own.
  ProcessGrid(Communicator const& all_ranks)
      : all(all_ranks) {}  // NOLINT(google-explicit-constructor)
  /// Groups of slabs.count ranks. **Collective**.
  /// @throws Error unless the number of ranks is a multiple of it, and all ranks say the same.
  ProcessGrid(Communicator const& all_ranks, Slabs const& slabs_of_groups);

  /// For a grid: where it is not cut, every rank is a group of its own.
  ProcessGrid on(Grid3 const& grid) const { return slabs.cut(grid) ? *this : ProcessGrid(all); }

  /// What this rank has of it. @param grid  of on()
  Space space(Grid3 const& grid) const { return part_of_processes(spatial.get(), slabs, grid); }

  /// Planes of voxels that this rank reads of its group's samples; none: all.
  Planes planes(Grid3 const& grid) const { return planes_of(space(grid)); }

  int groups() const { return all.size() / slabs.count; }
  int group() const { return all.rank() / slabs.count; }
  /// Whether this rank speaks for its group in sums over all ranks.
  bool leads() const { return all.rank() % slabs.count == 0; }

  Communicator const& all;
  Slabs slabs = {};
  std::shared_ptr<Communicator const> spatial = nullptr;  ///< the ranks of this group; null: one
};

}  // namespace voxcycle
