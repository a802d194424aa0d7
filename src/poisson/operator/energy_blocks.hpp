// SPDX-License-Identifier: BSD-3-Clause
// The fused energy and gradient kernel for GPUs, as a block program (core/block_program.hpp).
//
// A block owns a tile of 15 x 31 nodes in y and z and walks along x through some planes of them.
// Its 4 x 32 threads hold four columns of voxels each, neighbours in y; the first row of voxels and
// the first column of threads repeat voxels of other blocks, so that the tile's nodes get all they
// need without writing to another block's. A thread keeps the sums and differences of its voxels'
// corners (as kernels/energy_rows.cpp does) and what they give to the next plane; what they give to
// other threads' nodes of this plane goes through shared memory. Each u, nu and K u passes global
// memory once (plus the tile's rim), and is on its way while the plane before is computed.
//
// A GPU issues instructions for this kernel hardly faster than its memory delivers, so there are to
// be few a node. With a and c a voxel's term on its two node planes and lambda_s and lambda_d the
// eigenvalues for their sum and difference, K gives to the planes
//   lambda_s (a + c) + lambda_d (a - c) = p (a + r c)  and
//   lambda_s (a + c) - lambda_d (a - c) = p (r a + c)  with
//   p = lambda_s + lambda_d,  r = (lambda_s - lambda_d) / p,
// which with nu is four operations if p waits for the sums over terms.
#pragma once

#include "voxcycle/core/block_program.hpp"

#include <cmath>
#include <cstdint>

#include "poisson/operator/energy_rows.hpp"

namespace voxcycle {

/// Four numbers a voxel and plane: sums (s) and differences (d) along y (first letter) and z.
template <class T>
struct PlaneTerms {
  T ss = 0, sd = 0, ds = 0, dd = 0;
};

/// The element matrix for nu = 1 as the kernel uses it. All p but the last are relative to ss's.
template <class T>
struct EnergyWeights {
  T scale;  ///< p of ss, whose r is -1
  T r_sd, r_ds, r_dd;
  T p_sd, p_ds, p_dd;
  T p_dd_sd;  ///< relative to sd's

  EnergyWeights() = default;
  explicit EnergyWeights(HaarSpectrum const& spectrum) {
    auto const p = [&](int term) { return spectrum.lambda[term] + spectrum.lambda[4 + term]; };
    auto const r = [&](int term) {
      return static_cast<T>((spectrum.lambda[term] - spectrum.lambda[4 + term]) / p(term));
    };
    auto const relative = [&](int term, int to) { return static_cast<T>(p(term) / p(to)); };
    scale = static_cast<T>(p(ss));
    r_sd = r(sd), r_ds = r(ds), r_dd = r(dd);
    p_sd = relative(sd, ss), p_ds = relative(ds, ss), p_dd = relative(dd, ss);
    p_dd_sd = relative(dd, sd);
  }

 private:
  enum Term { ss, sd, ds, dd };
};

/// One launch: J(u) = 1/2 u^T K u - b^T u and K u - b of a batch of samples.
template <class T>
struct EnergyJob {
  T const* u;                ///< [batch, nx+1, ny+1, nz+1]
  T const* nu;               ///< [batch, nx, ny, nz]
  T const* b;                ///< load of the first sample, or null: zero
  std::int64_t load_stride;  ///< from one sample's load to the next one's; 0: all have the same
  T* gradient;               ///< shape of u
  double* partial;           ///< [batch, EnergyTiles::per_sample()]: each tile's part of J
  int batch, nx, ny, nz;
  EnergyWeights<T> weights;

  VOXCYCLE_BOTH std::int64_t node_plane() const { return (ny + 1) * (nz + std::int64_t{1}); }
  VOXCYCLE_BOTH std::int64_t voxel_plane() const { return ny * std::int64_t{nz}; }
};

/// How a sample's nodes are cut into tiles: a function of the grid alone, so that a sample of a
/// batch has the bits that it has alone.
struct EnergyTiles {
  static constexpr int threads_y = 4, threads_z = 32, threads = threads_y * threads_z;
  static constexpr int rows = 4;  ///< of voxels a thread
  static constexpr int size_y = threads_y * rows - 1, size_z = threads_z - 1;  ///< nodes a tile
  int thickness;  ///< node planes a tile
  int along_x, along_y, along_z;

  VOXCYCLE_BOTH EnergyTiles(int nx, int ny, int nz)
      : thickness(count(nx + 1, layers(nx))),
        along_x(count(nx + 1, thickness)),
        along_y(count(ny + 1, size_y)),
        along_z(count(nz + 1, size_z)) {}
  VOXCYCLE_BOTH int per_sample() const { return along_x * along_y * along_z; }

 private:
  VOXCYCLE_BOTH static int count(int nodes, int size) { return (nodes + size - 1) / size; }
  // Thin tiles fill a GPU with small grids; thick ones repeat less.
  VOXCYCLE_BOTH static int layers(int nx) {
    return nx < 4 ? 1 : nx < 64 ? nx / 4 : nx < 256 ? 16 : nx / 32;
  }
};

/// Shared memory: what voxels give to other threads' nodes, and sums. The two sides take turns, so
/// that one barrier a plane is enough.
template <class T>
struct EnergyShared {
  /// An offer of each thread, with room before for the threads that have no neighbour.
  struct Offers {
    static constexpr int before = EnergyTiles::threads_z + 1;
    T values[before + EnergyTiles::threads];
    VOXCYCLE_BOTH T& of(int thread) { return values[before + thread]; }
  };
  struct Side {
    Offers to_z[EnergyTiles::rows];  ///< of each row of voxels to the next node along z
    Offers to_y, to_yz;              ///< of the last row to the next row of nodes
  } sides[2];
  double sums[EnergyTiles::threads];
};

/// A thread: a few voxels of each plane, and the nodes at their first corners.
template <class T>
class EnergyColumns {
 public:
  /// Takes up voxels (y, z), (y + 1, z), ..., some of which may lie outside of the grid, and the
  /// nodes (y, z), if it owns the first, and (y + 1, z), ..., if it owns any.
  VOXCYCLE_BOTH void begin(EnergyJob<T> const& job, int y, int z, bool owns_first, bool owns_any) {
    auto const clamp = [](int i, int last) { return i < 0 ? 0 : i > last ? last : i; };
    // Voxels outside of the grid count as 0 times ones inside.
    int const row = job.nz + 1, near_z = clamp(z, job.nz - 1);
    for (int i = 0; i <= rows; ++i) u_[i] = offset(clamp(y + i, job.ny), row, near_z);
    for (int i = 0; i < rows; ++i) {
      bool const inside = y + i >= 0 && y + i < job.ny && z >= 0 && z < job.nz;
      scale_[i] = inside ? job.weights.scale : T(0);
      nu_[i] = offset(clamp(y + i, job.ny - 1), job.nz, near_z);
      has_node_[i] = (i == 0 ? owns_first : owns_any) && y + i <= job.ny && z <= job.nz;
      node_[i] = offset(clamp(y + i, job.ny), row, clamp(z, job.nz));
    }
    counts_first_ = owns_first;
    counts_any_ = owns_any;
  }

  /// Starts reading a plane of nodes.
  VOXCYCLE_BOTH void fetch_nodes(T const* u) {
    for (int i = 0; i <= rows; ++i) {
      T const* const here = &at(u, u_[i]);
      fetched_[i][0] = here[0];
      fetched_[i][1] = here[1];
    }
  }

  /// Starts reading a plane of voxels.
  VOXCYCLE_BOTH void fetch_voxels(T const* nu) {
    for (int i = 0; i < rows; ++i) fetched_nu_[i] = at(nu, nu_[i]);
  }

  /// Makes the nodes fetched those of a side. Sides: of two planes of nodes that follow each other.
  VOXCYCLE_BOTH void turn(int side) {
    T sum[rows + 1], gradient[rows + 1];
    for (int i = 0; i <= rows; ++i) {
      sum[i] = fetched_[i][0] + fetched_[i][1];
      gradient[i] = fetched_[i][0] - fetched_[i][1];
    }
    for (int i = 0; i < rows; ++i) {
      corners_[side][i] = {sum[i] + sum[i + 1], gradient[i] + gradient[i + 1], sum[i] - sum[i + 1],
                           gradient[i] - gradient[i + 1]};
    }
  }

  /// Of a plane of nodes of side 1 and the next one of side 0: takes in what the voxels fetched,
  /// which lie between them and are another block's, give to the second one.
  VOXCYCLE_BOTH void pass_others(EnergyWeights<T> const& w) {
    PlaneTerms<T> others;
    for (int i = 0; i < rows; ++i) context(w, scale_[i] * fetched_nu_[i], 1, i, others);
  }

  /// Completes what the voxels of these columns give to a node plane and offers it to the
  /// neighbours. Side: of the node plane, the other one gets the plane fetched. Then fetches from
  /// the planes u and nu.
  VOXCYCLE_BOTH void give(EnergyWeights<T> const& w, T const* u, T const* nu,
                          EnergyShared<T>& shared, int side, int thread) {
    turn(1 - side);
    T voxels[rows];
    for (int i = 0; i < rows; ++i) voxels[i] = scale_[i] * fetched_nu_[i];
    fetch_nodes(u);
    fetch_voxels(nu);
    PlaneTerms<T> total[rows];
    T steep[rows];
    for (int i = 0; i < rows; ++i) steep[i] = context(w, voxels[i], side, i, total[i]);
    offer(w, total, steep, shared, side, thread);
  }

  /// The same for the grid's last node plane, which has no voxels behind it.
  VOXCYCLE_BOTH void give_rest(EnergyWeights<T> const& w, EnergyShared<T>& shared, int side,
                               int thread) {
    PlaneTerms<T> total[rows];
    T const steep[rows] = {};
    for (int i = 0; i < rows; ++i) {
      total[i] = kept_[i];
      total[i].ss = -kept_[i].ss;
    }
    offer(w, total, steep, shared, side, thread);
  }

  /// Adds up what the voxels around the nodes gave and writes K u - b to a plane of the gradient,
  /// which is plane x of the sample.
  VOXCYCLE_BOTH void take(EnergyJob<T> const& job, int sample, int x, T* gradient,
                          EnergyShared<T>& shared, int side, int thread) {
    auto& offers = shared.sides[side];
    constexpr int row = EnergyTiles::threads_z;
    T value[rows];
    for (int i = 0; i < rows; ++i) value[i] = own_[i] + offers.to_z[i].of(thread - 1);
    value[0] += offers.to_y.of(thread - row) + offers.to_yz.of(thread - row - 1);
    for (int i = 0; i < rows; ++i) {
      if (!has_node_[i]) continue;
      if (job.b != nullptr) {
        T const* const u = job.u + (sample * (job.nx + std::int64_t{1}) + x) * job.node_plane();
        T const load = at(job.b + sample * job.load_stride + x * job.node_plane(), node_[i]);
        value[i] -= load;
        // energy_ is twice the energy until its end.
        energy_ -= 2.0 * static_cast<double>(load) * static_cast<double>(at(u, node_[i]));
      }
      at(gradient, node_[i]) = value[i];
    }
  }

  VOXCYCLE_BOTH double energy() const { return counts_any_ ? 0.5 * energy_ : 0.0; }

 private:
  static constexpr int rows = EnergyTiles::rows;

  // A GPU's threads share the addresses of planes. Offsets in them have 32 bits, to need few
  // registers, and are in bytes.
  VOXCYCLE_BOTH static unsigned offset(int y, int row, int z) {
    return (static_cast<unsigned>(y) * static_cast<unsigned>(row) + static_cast<unsigned>(z)) *
           static_cast<unsigned>(sizeof(T));
  }
  VOXCYCLE_BOTH static T const& at(T const* plane, unsigned bytes) {
    return *reinterpret_cast<T const*>(reinterpret_cast<char const*>(plane) + bytes);
  }
  VOXCYCLE_BOTH static T& at(T* plane, unsigned bytes) {
    return *reinterpret_cast<T*>(reinterpret_cast<char*>(plane) + bytes);
  }

  /// One voxel: adds what it gives to its first node plane to what the voxel before gave, and
  /// keeps what it gives to the second. @return its energy of the gradient along x
  VOXCYCLE_BOTH T context(EnergyWeights<T> const& w, T nu, int side, int i, PlaneTerms<T>& total) {
    PlaneTerms<T> const &a = corners_[side][i], &c = corners_[1 - side][i];
    PlaneTerms<T>& kept = kept_[i];
    T const gradient = a.ss - c.ss, flow = nu * gradient;
    total = {flow - kept.ss, std::fma(nu, std::fma(w.r_sd, c.sd, a.sd), kept.sd),
             std::fma(nu, std::fma(w.r_ds, c.ds, a.ds), kept.ds),
             std::fma(nu, std::fma(w.r_dd, c.dd, a.dd), kept.dd)};
    kept = {flow, nu * std::fma(w.r_sd, a.sd, c.sd), nu * std::fma(w.r_ds, a.ds, c.ds),
            nu * std::fma(w.r_dd, a.dd, c.dd)};
    return flow * gradient;
  }

  /// Counts the energy and offers what these voxels give to a node plane. The energy of a term
  /// other than ss is summed by parts: over node planes, the term times what K makes of it.
  VOXCYCLE_BOTH void offer(EnergyWeights<T> const& w, PlaneTerms<T> const* total, T const* steep,
                           EnergyShared<T>& shared, int side, int thread) {
    PlaneTerms<T> energy;
    for (int i = rows - 1; i >= 0; --i) {
      if (i == 0 && !counts_first_) break;  // the rim's repeated voxels belong to other blocks
      auto const& of = corners_[side][i];
      energy = {energy.ss + steep[i], std::fma(of.sd, total[i].sd, energy.sd),
                std::fma(of.ds, total[i].ds, energy.ds), std::fma(of.dd, total[i].dd, energy.dd)};
    }
    energy_ += static_cast<double>(std::fma(
        w.p_dd, energy.dd, std::fma(w.p_ds, energy.ds, std::fma(w.p_sd, energy.sd, energy.ss))));

    // From terms to rows of nodes, then to nodes.
    T s[rows + 1] = {}, d[rows + 1] = {};
    for (int i = 0; i < rows; ++i) {
      T const low = std::fma(w.p_ds, total[i].ds, total[i].ss);
      T const low_gradient = std::fma(w.p_dd_sd, total[i].dd, total[i].sd);
      s[i] = i == 0 ? low : s[i] + low;
      d[i] = i == 0 ? low_gradient : d[i] + low_gradient;
      s[i + 1] = std::fma(-w.p_ds, total[i].ds, total[i].ss);
      d[i + 1] = std::fma(-w.p_dd_sd, total[i].dd, total[i].sd);
    }
    auto& offers = shared.sides[side];
    for (int i = 0; i < rows; ++i) {
      own_[i] = std::fma(w.p_sd, d[i], s[i]);
      offers.to_z[i].of(thread) = std::fma(-w.p_sd, d[i], s[i]);
    }
    offers.to_y.of(thread) = std::fma(w.p_sd, d[rows], s[rows]);
    offers.to_yz.of(thread) = std::fma(-w.p_sd, d[rows], s[rows]);
  }

  unsigned u_[rows + 1] = {}, nu_[rows] = {}, node_[rows] = {};  // offsets in a plane
  T scale_[rows] = {};
  bool has_node_[rows] = {}, counts_first_ = false, counts_any_ = false;
  T fetched_[rows + 1][2] = {}, fetched_nu_[rows] = {};
  PlaneTerms<T> corners_[2][rows], kept_[rows];
  T own_[rows] = {};
  double energy_ = 0.0;
};

/// What block `index` of batch * per_sample() blocks does.
template <class T, class Block>
VOXCYCLE_BOTH void energy_block(Block& block, EnergyShared<T>& shared, EnergyJob<T> const& job,
                                int index) {
  EnergyTiles const tiles(job.nx, job.ny, job.nz);
  int const sample = index / tiles.per_sample(), tile = index % tiles.per_sample();
  int const tile_z = tile % tiles.along_z, tile_y = tile / tiles.along_z % tiles.along_y;
  int const first = tile / (tiles.along_z * tiles.along_y) * tiles.thickness;
  // The planes before `last` have voxels behind them.
  int const last = first + tiles.thickness <= job.nx ? first + tiles.thickness : job.nx;
  bool const ends = first + tiles.thickness > job.nx;

  // The planes that are fetched and written.
  std::int64_t const node_plane = job.node_plane(), voxel_plane = job.voxel_plane();
  T const* u = job.u + (sample * (job.nx + std::int64_t{1}) + first) * node_plane;
  T const* nu = job.nu + (sample * std::int64_t{job.nx} + first) * voxel_plane;
  T* gradient = job.gradient + (u - job.u);

  typename Block::template Private<EnergyColumns<T>> columns;
  block.each([=, &columns, &job](int thread) {
    int const y = thread / EnergyTiles::threads_z, z = thread % EnergyTiles::threads_z;
    auto& own = columns[thread];
    own.begin(job, tile_y * EnergyTiles::size_y + y * EnergyTiles::rows - 1,
              tile_z * EnergyTiles::size_z + z - 1, y > 0 && z > 0, z > 0);
    if (first > 0) {
      own.fetch_nodes(u - node_plane);
      own.fetch_voxels(nu - voxel_plane);
      own.turn(1);
    }
    own.fetch_nodes(u);
    own.turn(0);
    if (first > 0) own.pass_others(job.weights);
    if (first < job.nx) {
      own.fetch_nodes(u + node_plane);
      own.fetch_voxels(nu);
    }
  });
  u += node_plane;
  auto const take = [=, &block, &columns, &shared, &job, &gradient](int x, int side) {
    block.sync();
    block.each([=, &columns, &shared, &job](int thread) {
      columns[thread].take(job, sample, x, gradient, shared, side, thread);
    });
    gradient += node_plane;
  };
  auto const plane = [=, &block, &columns, &shared, &job, &u, &nu](int x, int side) {
    // After the last plane what is at hand is read once more.
    u += x + 1 < last ? node_plane : 0;
    nu += x + 1 < last ? voxel_plane : 0;
    block.each([=, &columns, &shared, &job](int thread) {
      columns[thread].give(job.weights, u, nu, shared, side, thread);
    });
    take(x, side);
  };
  auto const rest = [=, &block, &columns, &shared, &job](int side) {
    if (!ends) return;
    block.each([=, &columns, &shared, &job](int thread) {
      columns[thread].give_rest(job.weights, shared, side, thread);
    });
    take(job.nx, side);
  };
  // By twos, so that a side is a constant and needs no copying.
  int x = first;
  for (; x + 1 < last; x += 2) {
    plane(x, 0);
    plane(x + 1, 1);
  }
  if (x < last) {
    plane(x, 0);
    rest(1);
  } else {
    rest(0);
  }

  block.each([&columns, &shared](int thread) { shared.sums[thread] = columns[thread].energy(); });
  sum_over_block<EnergyTiles::threads>(block, shared.sums);
  block.each([=, &shared, &job](int thread) {
    if (thread == 0) job.partial[index] = shared.sums[0];
  });
  block.sync();
}

}  // namespace voxcycle
