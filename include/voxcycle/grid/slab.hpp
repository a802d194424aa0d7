// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include <cstdint>
#include <vector>

namespace voxcycle {

/// Planes [begin, begin + count) along x. Of none where all are meant.
struct Planes {
  std::int64_t begin = 0, count = 0;
  bool operator==(Planes const&) const = default;
};

/// These planes; all of the grid's where there are none.
inline Planes or_all(Planes const& planes, Grid3 const& grid) {
  return planes.count > 0 ? planes : Planes{0, grid.voxels[0]};
}

/// A box of these planes of the grid; all of it where there are none. For sizes of fields alone.
inline Grid3 on_planes(Grid3 grid, Planes const& planes) {
  if (planes.count > 0) grid.voxels[0] = planes.count;
  return grid;
}

/// What one process has of a grid that several share out along x: the voxel planes that it owns,
/// and copies of `halo` planes of its neighbours on either side, where there are such. It owns the
/// nodes of its first plane and those between its planes; the last process those of the last face
/// as well.
///
///     whole grid   0 1 2 3 4 5 6 7 8 9 10 11      ends {0, 4, 8, 12}, rank 1, halo 2
///     this part        2 3 4 5 6 7 8 9            own_voxels() {2, 4} of the part's planes
struct Slab {
  Grid3 whole;
  std::vector<std::int64_t> ends;  ///< slab r begins at ends[r]; one more than there are processes
  int rank = 0;
  std::int64_t halo = 0;  ///< even
  /// Of the parts of the whole grid that sums over features are taken of, whoever has them: the
  /// ends of slabs are some of them. Empty: each slab is one part.
  std::vector<std::int64_t> part_ends{};

  /// The parts that this process owns, counted from its first own plane.
  std::vector<Planes> own_parts() const;
  /// Of all processes.
  int parts() const { return static_cast<int>((part_ends.empty() ? ends : part_ends).size()) - 1; }
  int processes() const { return static_cast<int>(ends.size()) - 1; }
  bool is_whole() const { return processes() == 1; }
  bool is_first() const { return rank == 0; }
  bool is_last() const { return rank + 1 == processes(); }
  /// The voxel plane of the whole grid that is this part's first one, and the one behind its last.
  std::int64_t first() const;
  std::int64_t behind() const;
  /// Planes of the whole grid that this process has.
  Planes planes() const { return {first(), behind() - first()}; }
  /// The grid as this process has it, with the whole grid's spacing.
  Grid3 part() const;
  Planes own_voxels() const;  ///< counted in this part
  Planes own_nodes() const;
  /// Fewest planes of a part.
  std::int64_t thinnest() const;
  /// The same share of the grid that halves this one, with half the halo.
  /// @param coarse_whole  the coarser grid; of an odd number of planes the last slab has the rest
  Slab coarsened(Grid3 const& coarse_whole) const;
  Slab with_halo(std::int64_t planes) const;
};

/// How grids are shared out.
struct SlabOptions {
  std::int64_t halo = 4;    ///< even, > 0
  std::int64_t above = 32;  ///< grids of no more voxels along their longest edge are whole
};

/// One process has it all.
Slab whole_slab(Grid3 const& grid);

/// Slabs of about one thickness for the grid and the coarser ones that keep its planes: as many
/// halvings as leave grids longer than `above` with slabs of more than `halo` planes. All slabs but
/// the last begin at multiples of two to the power of those.
/// @throws Error, naming what fits, if slabs would be too thin.
Slab slab_of(Grid3 const& grid, int processes, int rank, SlabOptions const& options = {});

/// Whether a grid that is shared out so stays so; else every process is to have it whole.
bool stays_shared(Slab const& slab, SlabOptions const& options = {});

/// How processes compute samples together: each has a slab of fine grids, all have coarse grids
/// and those that are too thin as a whole.
struct Slabs {
  int count = 1;            ///< processes, >= 1
  std::int64_t above = 32;  ///< as in SlabOptions
  /// Parts of a grid, >= count, each a term of the sums over features, so that these have the same
  /// bits for any count; 0: as many as processes. Grids are cut as parts allow.
  int parts = 0;

  bool cut(Grid3 const& grid) const;
  int parts_of_cut() const { return parts > 0 ? parts : count; }
  /// Processes that compute a sample of this grid together.
  int processes(Grid3 const& grid) const { return cut(grid) ? count : 1; }
  /// Of a grid that is cut. Slabs of the grids that halve it are its halves.
  Slab of(Grid3 const& grid, int rank) const;
  /// @throws Error if the grid is above `above` and yet too thin for so many.
  void require_fits(Grid3 const& grid) const;

  bool operator==(Slabs const&) const = default;
};

}  // namespace voxcycle
