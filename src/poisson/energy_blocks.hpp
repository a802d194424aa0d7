// SPDX-License-Identifier: BSD-3-Clause
// The fused energy and gradient kernel for GPUs, as a block program (core/block_program.hpp).
//
// A block owns a tile of 7 x 31 nodes in y and z and walks along x through some planes of them. Its
// 8 x 32 threads hold one column of voxels each; the first row and column of threads repeat voxels
// of the neighbours, so that the tile's nodes get all they need without writing to another block's.
// A thread keeps the sums and differences of its voxel's corners (as kernels/energy_rows.cpp does)
// and what the voxel gives to the next plane; what it gives to the other three corners of this
// plane goes through shared memory. Each u, nu and K u passes global memory once (plus the tile's
// rim).
#pragma once

#include "voxcycle/core/block_program.hpp"

#include <cstdint>

namespace voxcycle {

/// One launch: J(u) = 1/2 u^T K u - b^T u and K u - b of a batch of samples.
template <class T>
struct EnergyJob {
  T const* u;                ///< [batch, nx+1, ny+1, nz+1]
  T const* nu;               ///< [batch, nx, ny, nz]
  T const* b;                ///< load of the first sample, or null: zero
  std::int64_t load_stride;  ///< from one sample's load to the next one's; 0: all have the same
  T* gradient;               ///< shape of u
  double* partial;           ///< [batch, EnergyTiles::per_sample()]: J of each tile
  int batch, nx, ny, nz;
  T lambda[8];  ///< eigenvalues of the element matrix, as in HaarSpectrum
};

/// How a sample's nodes are cut into tiles: a function of the grid alone, so that a sample of a
/// batch has the bits that it has alone.
struct EnergyTiles {
  static constexpr int threads_y = 8, threads_z = 32;
  int thickness;  ///< node planes a tile
  int along_x, along_y, along_z;

  VOXCYCLE_BOTH EnergyTiles(int nx, int ny, int nz)
      // Thin tiles fill a GPU with small grids; thick ones repeat less.
      : thickness(nx < 32    ? 4
                  : nx < 256 ? nx / 8
                             : 32),
        along_x(count(nx + 1, thickness)),
        along_y(count(ny + 1, threads_y - 1)),
        along_z(count(nz + 1, threads_z - 1)) {}
  VOXCYCLE_BOTH int per_sample() const { return along_x * along_y * along_z; }

 private:
  VOXCYCLE_BOTH static int count(int nodes, int size) { return (nodes + size - 1) / size; }
};
static_assert(EnergyTiles::threads_y * EnergyTiles::threads_z == block_threads);

/// Shared memory: what voxels give to corners other than their first, and sums. The two sides take
/// turns, so that one barrier a plane is enough.
template <class T>
struct EnergyShared {
  T to_z[2][block_threads], to_y[2][block_threads], to_yz[2][block_threads];
  double sums[block_threads];
};

/// Four numbers a voxel and plane: sums (s) and differences (d) along y (first letter) and z.
template <class T>
struct PlaneTerms {
  T ss = 0, sd = 0, ds = 0, dd = 0;
};

/// A thread: one voxel of each plane, and the node at its first corner.
template <class T>
class EnergyColumn {
 public:
  /// Gets ready for node plane `first`: takes in what the voxel plane before gives to it.
  VOXCYCLE_BOTH void begin(EnergyJob<T> const& job, int sample, int first, int y, int z,
                           bool owns_node) {
    row_ = job.nz + 1;
    node_plane_ = static_cast<std::int64_t>(job.ny + 1) * row_;
    voxel_plane_ = static_cast<std::int64_t>(job.ny) * job.nz;
    has_voxel_ = y >= 0 && y < job.ny && z >= 0 && z < job.nz;
    has_node_ = owns_node && y <= job.ny && z <= job.nz;
    node_in_plane_ = static_cast<std::int64_t>(y) * row_ + z;
    voxel_in_plane_ = static_cast<std::int64_t>(y) * job.nz + z;
    first_node_ = sample * (job.nx + 1) * node_plane_;
    first_voxel_ = sample * job.nx * voxel_plane_;
    if (!has_voxel_) return;
    int const before = first > 0 ? first - 1 : 0;
    corners_ = read(job, before);
    if (first > 0) pass_voxel(job, before);
  }

  /// Completes what the voxels of this column give to node plane x and offers it to the neighbours.
  VOXCYCLE_BOTH void give(EnergyJob<T> const& job, int x, EnergyShared<T>& shared, int side,
                          int thread) {
    PlaneTerms<T> total = carry_;
    carry_ = {};
    if (has_voxel_ && x < job.nx) {
      PlaneTerms<T> const before = total;
      T const energy = pass_voxel(job, x);
      total = {before.ss + below_.ss, before.sd + below_.sd, before.ds + below_.ds,
               before.dd + below_.dd};
      // The repeated voxels of the rim belong to other blocks.
      if (has_node_) energy_ += 0.5 * static_cast<double>(energy);
    }
    T const low = total.ss + total.ds, high = total.ss - total.ds;
    T const low_slope = total.sd + total.dd, high_slope = total.sd - total.dd;
    own_ = low + low_slope;
    shared.to_z[side][thread] = low - low_slope;
    shared.to_y[side][thread] = high + high_slope;
    shared.to_yz[side][thread] = high - high_slope;
  }

  /// Adds up what the four voxels around the node gave and writes K u - b.
  VOXCYCLE_BOTH void take(EnergyJob<T> const& job, int sample, int x, EnergyShared<T> const& shared,
                          int side, int thread) {
    if (!has_node_) return;
    constexpr int row = EnergyTiles::threads_z;
    T value = (own_ + shared.to_z[side][thread - 1]) +
              (shared.to_y[side][thread - row] + shared.to_yz[side][thread - row - 1]);
    std::int64_t const in_sample = x * node_plane_ + node_in_plane_;
    if (job.b != nullptr) {
      T const load = job.b[sample * job.load_stride + in_sample];
      value -= load;
      energy_ -= static_cast<double>(load) * static_cast<double>(job.u[first_node_ + in_sample]);
    }
    job.gradient[first_node_ + in_sample] = value;
  }

  VOXCYCLE_BOTH double energy() const { return energy_; }

 private:
  VOXCYCLE_BOTH PlaneTerms<T> read(EnergyJob<T> const& job, int x) const {
    T const* const u = job.u + first_node_ + x * node_plane_ + node_in_plane_;
    T const low = u[0] + u[1], low_slope = u[0] - u[1];
    T const high = u[row_] + u[row_ + 1], high_slope = u[row_] - u[row_ + 1];
    return {low + high, low_slope + high_slope, low - high, low_slope - high_slope};
  }

  /// One voxel: sets below_, what it gives to its first node plane, and carry_, what it gives to
  /// the second. @return u^T K u of the voxel
  VOXCYCLE_BOTH T pass_voxel(EnergyJob<T> const& job, int x) {
    T const nu = job.nu[first_voxel_ + x * voxel_plane_ + voxel_in_plane_];
    PlaneTerms<T> const a = corners_, c = read(job, x + 1);
    corners_ = c;
    // Letters: sum or difference along x, y, z; coefficients, then K's times them.
    T const c_ssd = a.sd + c.sd, c_sds = a.ds + c.ds, c_sdd = a.dd + c.dd;
    T const c_dss = a.ss - c.ss, c_dsd = a.sd - c.sd, c_dds = a.ds - c.ds, c_ddd = a.dd - c.dd;
    T const g_ssd = nu * (job.lambda[1] * c_ssd), g_sds = nu * (job.lambda[2] * c_sds);
    T const g_sdd = nu * (job.lambda[3] * c_sdd), g_dss = nu * (job.lambda[4] * c_dss);
    T const g_dsd = nu * (job.lambda[5] * c_dsd), g_dds = nu * (job.lambda[6] * c_dds);
    T const g_ddd = nu * (job.lambda[7] * c_ddd);
    below_ = {g_dss, g_ssd + g_dsd, g_sds + g_dds, g_sdd + g_ddd};
    carry_ = {-g_dss, g_ssd - g_dsd, g_sds - g_dds, g_sdd - g_ddd};
    return ((g_ssd * c_ssd + g_sds * c_sds) + (g_sdd * c_sdd + g_dss * c_dss)) +
           ((g_dsd * c_dsd + g_dds * c_dds) + g_ddd * c_ddd);
  }

  std::int64_t row_ = 0, node_plane_ = 0, voxel_plane_ = 0;
  std::int64_t node_in_plane_ = 0, voxel_in_plane_ = 0;  // offsets in a plane
  std::int64_t first_node_ = 0, first_voxel_ = 0;        // of the sample
  bool has_voxel_ = false, has_node_ = false;
  PlaneTerms<T> corners_, carry_, below_;
  T own_ = 0;
  double energy_ = 0.0;
};

/// What block `index` of batch * per_sample() blocks does.
template <class T, class Block>
VOXCYCLE_BOTH void energy_block(Block& block, EnergyShared<T>& shared, EnergyJob<T> const& job,
                                int index) {
  constexpr int rows = EnergyTiles::threads_y - 1, columns_z = EnergyTiles::threads_z - 1;
  EnergyTiles const tiles(job.nx, job.ny, job.nz);
  int const sample = index / tiles.per_sample(), tile = index % tiles.per_sample();
  int const tile_z = tile % tiles.along_z, tile_y = tile / tiles.along_z % tiles.along_y;
  int const first = tile / (tiles.along_z * tiles.along_y) * tiles.thickness;
  int const last = first + tiles.thickness <= job.nx ? first + tiles.thickness : job.nx + 1;

  typename Block::template Private<EnergyColumn<T>> columns;
  block.each([=, &columns, &job](int thread) {
    int const y = thread / EnergyTiles::threads_z, z = thread % EnergyTiles::threads_z;
    columns[thread].begin(job, sample, first, tile_y * rows + y - 1, tile_z * columns_z + z - 1,
                          y > 0 && z > 0);
  });
  for (int x = first; x < last; ++x) {
    int const side = x % 2;
    block.each([=, &columns, &shared, &job](int thread) {
      columns[thread].give(job, x, shared, side, thread);
    });
    block.sync();
    block.each([=, &columns, &shared, &job](int thread) {
      columns[thread].take(job, sample, x, shared, side, thread);
    });
  }
  block.each([&columns, &shared](int thread) { shared.sums[thread] = columns[thread].energy(); });
  sum_over_block(block, shared.sums);
  block.each([=, &shared, &job](int thread) {
    if (thread == 0) job.partial[index] = shared.sums[0];
  });
  block.sync();
}

}  // namespace voxcycle
