// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/grid/slab.hpp"

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// A process' part of a grid, and the others that have the rest. Fields are those of Slab::part,
/// [B, C, planes, ...] on its voxels or nodes, contiguous. What a process computes there is wrong
/// where it would need what lies beyond the part; `refresh` takes the neighbours' values for their
/// planes. One process that has the whole grid is the case of no neighbours: nothing is done.
class Space {
 public:
  /// The whole grid, on this process alone.
  Space(Grid3 const& grid) : slab_(whole_slab(grid)) {}
  /// @param comm  its rank r has slab r; it must outlive this, or be null for a whole grid
  Space(Communicator const* comm, Slab slab);

  Slab const& slab() const { return slab_; }
  Communicator const* comm() const { return comm_; }
  bool is_whole() const { return slab_.is_whole(); }

  /// As Slab::coarsened.
  Space coarsened(Grid3 const& coarse_whole) const {
    return {comm_, slab_.coarsened(coarse_whole)};
  }
  /// What a process works on where `coarsened` leads to: as wide as this part, if the coarser grid
  /// stays shared out, else all of it.
  Space below(Grid3 const& coarse_whole, std::int64_t above = SlabOptions{}.above) const;
  Space with_halo(std::int64_t planes) const { return {comm_, slab_.with_halo(planes)}; }

  /// The planes of voxels or nodes that this process owns: a view.
  at::Tensor own_voxels(at::Tensor const& field) const;
  at::Tensor own_nodes(at::Tensor const& field) const;

  /// Sets the planes of others to their values. **Collective**.
  void refresh_voxels(at::Tensor const& field) const;
  void refresh_nodes(at::Tensor const& field) const;

  /// The planes of a part that lies within this one.
  at::Tensor voxels_within(Space const& part, at::Tensor const& field) const;
  at::Tensor nodes_within(Space const& part, at::Tensor const& field) const;

  /// Own planes laid out for the same slab with another halo or, where `other` is whole, those of
  /// all processes one behind the other. **Collective**.
  at::Tensor voxels_on(Space const& other, at::Tensor const& field) const;
  at::Tensor nodes_on(Space const& other, at::Tensor const& field) const;

  double max(double value) const;  ///< over all processes. **Collective**
  double min(double value) const;
  /// The sum of what each plane of nodes gives, in the order of planes: the same bits for any
  /// number of processes. **Collective**.
  /// @param terms  [n, own planes], float64, on the CPU. @return [n]
  at::Tensor sum_of_planes(at::Tensor const& terms) const;
  /// The sum of what each process gives. **Collective**. @param values  [n], float64
  at::Tensor sum_of_parts(at::Tensor const& values) const;

 private:
  void refresh(at::Tensor const& field, Planes const& own, std::int64_t behind) const;
  at::Tensor laid_out(at::Tensor const& own, Space const& other, std::int64_t extra) const;
  at::Tensor within(Space const& part, at::Tensor const& field, std::int64_t extra) const;

  Communicator const* comm_ = nullptr;
  Slab slab_;
};

/// Those that this process has to read; none where it has all.
inline Planes planes_of(Space const& space) {
  return space.is_whole() ? Planes{} : space.slab().planes();
}

/// What this process has where all of `comm` share out the grid. @throws Error as slab_of does.
Space part_of_processes(Communicator const& comm, Grid3 const& grid);
/// The same where they share out grids that `slabs` cuts; else, or without `comm`, all of it.
Space part_of_processes(Communicator const* comm, Slabs const& slabs, Grid3 const& grid);

}  // namespace voxcycle
