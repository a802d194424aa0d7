// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/grid/slab.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace voxcycle {
namespace {

/// Ends of slabs of about one thickness; all but the last are multiples of `step`.
std::vector<std::int64_t> even_ends(std::int64_t planes, int processes, std::int64_t step) {
  std::vector<std::int64_t> ends;
  std::int64_t const steps = planes / step;
  for (int rank = 0; rank < processes; ++rank) ends.push_back(rank * steps / processes * step);
  ends.push_back(planes);
  return ends;
}

}  // namespace

std::int64_t Slab::first() const {
  return is_first() ? 0 : ends[rank] - halo;
}

std::int64_t Slab::behind() const {
  return is_last() ? ends[rank + 1] : ends[rank + 1] + halo;
}

Grid3 Slab::part() const {
  if (is_whole()) return whole;
  Grid3 grid = whole;
  grid.voxels[0] = behind() - first();
  grid.part_spacing = whole.spacing(0);
  grid.lengths[0] = grid.part_spacing * static_cast<double>(grid.voxels[0]);
  return grid;
}

Planes Slab::own_voxels() const {
  return {ends[rank] - first(), ends[rank + 1] - ends[rank]};
}

Planes Slab::own_nodes() const {
  Planes planes = own_voxels();
  if (is_last()) ++planes.count;
  return planes;
}

std::vector<Planes> Slab::own_parts() const {
  std::vector<Planes> all;
  auto const& cuts = part_ends.empty() ? ends : part_ends;
  for (int k = 0; k < parts(); ++k) {
    if (cuts[k] >= ends[rank] && cuts[k + 1] <= ends[rank + 1])
      all.push_back({cuts[k] - ends[rank], cuts[k + 1] - cuts[k]});
  }
  return all;
}

std::int64_t Slab::thinnest() const {
  std::int64_t planes = std::numeric_limits<std::int64_t>::max();
  auto const& cuts = part_ends.empty() ? ends : part_ends;
  for (int k = 0; k < parts(); ++k) planes = std::min(planes, cuts[k + 1] - cuts[k]);
  return planes;
}

Slab Slab::coarsened(Grid3 const& coarse_whole) const {
  Slab coarse{coarse_whole, ends, rank, halo / 2, part_ends};
  for (auto* const cuts : {&coarse.ends, &coarse.part_ends}) {
    for (auto& end : *cuts) end /= 2;
    if (!cuts->empty()) cuts->back() = coarse_whole.voxels[0];
  }
  return coarse;
}

Slab Slab::with_halo(std::int64_t planes) const {
  Slab slab = *this;
  slab.halo = planes;
  return slab;
}

Slab whole_slab(Grid3 const& grid) {
  return {grid, {0, grid.voxels[0]}, 0, 0};
}

Slab slab_of(Grid3 const& grid, int processes, int rank, SlabOptions const& options) {
  VOXCYCLE_REQUIRE(
      processes >= 1 && rank >= 0 && rank < processes && options.halo > 0 && options.halo % 2 == 0,
      "slabs: rank " << rank << " of " << processes << " with a halo of " << options.halo << '.');
  require_valid(grid);
  if (processes == 1) return whole_slab(grid);
  std::int64_t const planes = grid.voxels[0];
  auto const thinnest = [&](std::int64_t step) {
    return Slab{grid, even_ends(planes, processes, step), rank, options.halo}.thinnest();
  };
  std::int64_t const least = options.halo + 1;
  std::int64_t const most = planes / (least + least % 2);  // slabs begin at even planes
  VOXCYCLE_REQUIRE(thinnest(2) >= least,
                   "grid " << grid.label() << " has " << planes << " planes along x, and "
                           << processes << " processes need at least " << least << " each. Take "
                           << (most > 1 ? "no more than " + std::to_string(most) + " processes."
                                        : "one process."));
  std::int64_t step = 2;
  // The grid that step halvings lead to is shared out as well.
  while (grid.level() / step > options.above && thinnest(2 * step) / step >= least) step *= 2;
  return {grid, even_ends(planes, processes, step), rank, options.halo};
}

bool stays_shared(Slab const& slab, SlabOptions const& options) {
  bool const even = std::all_of(slab.ends.begin(), slab.ends.end() - 1,
                                [](std::int64_t end) { return end % 2 == 0; });
  return !slab.is_whole() && even && slab.whole.level() > options.above &&
         slab.thinnest() > options.halo;
}

bool Slabs::cut(Grid3 const& grid) const {
  SlabOptions const options{.above = above};
  Slab const slab{grid, even_ends(grid.voxels[0], parts_of_cut(), 2), 0, options.halo};
  return stays_shared(slab, options);
}

Slab Slabs::of(Grid3 const& grid, int rank) const {
  int const all = parts_of_cut();
  Slab slab = slab_of(grid, all, 0, {.above = above});
  slab.rank = rank;
  if (all == count) return slab;
  slab.part_ends = slab.ends;
  slab.ends.clear();
  for (int r = 0; r <= count; ++r) slab.ends.push_back(slab.part_ends[r * all / count]);
  if (slab.is_whole()) slab.halo = 0;
  return slab;
}

void Slabs::require_fits(Grid3 const& grid) const {
  VOXCYCLE_REQUIRE(count >= 1 && above >= 1,
                   "slabs: " << count << " of grids above " << above << '.');
  VOXCYCLE_REQUIRE(parts == 0 || parts >= count,
                   "run.spatial_parts = " << parts << " are too few for run.spatial_processes = "
                                          << count << ", each of which has one or more. Let it be "
                                          << count << " or more.");
  if (grid.level() <= above) return;
  try {
    of(grid, 0);
  } catch (Error const& error) {
    throw Error((parts > count ? "run.spatial_parts = " : "run.spatial_processes = ") +
                std::to_string(parts_of_cut()) + " is too many: " + error.what() +
                " Or let run.spatial_above be " + std::to_string(grid.level()) + " or more.");
  }
}

}  // namespace voxcycle
