// SPDX-License-Identifier: BSD-3-Clause
// Matrices of 27 entries a row on GPUs, node by node (core/element_job.hpp): what stencil_rows.hpp
// and StencilOperator are on a CPU.
#pragma once

#include "voxcycle/core/element_job.hpp"
#include "voxcycle/core/unrolled.hpp"

#include <cstdint>

#include "poisson/operator/node_points.hpp"
#include "poisson/operator/stencil_offsets.hpp"

namespace voxcycle {

/// Entries of K(nu): the sum over the voxels that hold both nodes of nu times an entry of the
/// element matrix, which depends only on the axes along which they differ.
template <class T>
struct VoxelEntries {
  T const* nu;  ///< [batch, nodes - 1]
  FieldSize nodes;
  double element[8];

  /// @param element_row  the first of the element matrix for nu = 1
  VoxelEntries(T const* nu_in, FieldSize const& nodes_in, double const* element_row)
      : nu(nu_in), nodes(nodes_in) {
    for (int i = 0; i < 8; ++i) element[i] = element_row[i];
  }

  /// Those of a node, which may lie outside of the grid, as may its neighbours: 0.
  VOXCYCLE_BOTH void row(int sample, int x, int y, int z, double (&entries)[offset_count]) const {
    FieldSize const voxels{nodes.x - 1, nodes.y - 1, nodes.z - 1};
    enum { low, both, high };  // along an axis: the voxel before the node, the sum, that behind it
    double sums[3][3][3];
    unrolled<8>([&](auto voxel) {
      constexpr int dx = decltype(voxel)::value / 4, dy = decltype(voxel)::value / 2 % 2;
      constexpr int dz = decltype(voxel)::value % 2;
      int const xv = x - 1 + dx, yv = y - 1 + dy, zv = z - 1 + dz;
      sums[high * dx][high * dy][high * dz] =
          voxels.holds(xv, yv, zv) ? static_cast<double>(nu[voxels.index(sample, xv, yv, zv)])
                                   : 0.0;
    });
    unrolled<4>([&](auto pair) {
      constexpr int px = decltype(pair)::value / 2 * high, py = decltype(pair)::value % 2 * high;
      sums[px][py][both] = sums[px][py][low] + sums[px][py][high];
    });
    unrolled<6>([&](auto pair) {
      constexpr int px = decltype(pair)::value / 3 * high, pz = decltype(pair)::value % 3;
      sums[px][both][pz] = sums[px][low][pz] + sums[px][high][pz];
    });
    unrolled<9>([&](auto pair) {
      constexpr int py = decltype(pair)::value / 3, pz = decltype(pair)::value % 3;
      sums[both][py][pz] = sums[low][py][pz] + sums[high][py][pz];
    });
    unrolled<offset_count>([&](auto offset) {
      constexpr int t = decltype(offset)::value;
      constexpr Step o(t);
      entries[t] =
          sums[o.x + 1][o.y + 1][o.z + 1] * element[4 * (o.x != 0) + 2 * (o.y != 0) + (o.z != 0)];
    });
  }
};

/// Entries of a symmetric matrix whose rows sum to zero.
template <class T>
struct CouplingEntries {
  T const* couplings;  ///< [batch, 13, nodes] with the neighbours at offsets 14 to 26
  FieldSize nodes;

  /// Those of a node, which may lie outside of the grid, as may its neighbours: 0.
  VOXCYCLE_BOTH void row(int sample, int x, int y, int z, double (&entries)[offset_count]) const {
    bool const inside = nodes.holds(x, y, z);
    double sum = 0.0;
    around(sample, inside ? x : 0, inside ? y : 0, inside ? z : 0,
           [&](auto offset, T coupling, std::uint32_t) {
             constexpr int t = decltype(offset)::value;
             entries[t] = inside ? static_cast<double>(coupling) : 0.0;
             sum -= entries[t];
           });
    entries[no_offset] = sum;
  }

  /// body(offset, coupling, neighbour) for all neighbours of a node of the grid: an integral
  /// constant and the neighbour's number in its sample. Of neighbours outside of the grid the
  /// coupling is 0 and the number that of the node.
  template <class Body>
  VOXCYCLE_BOTH void around(int sample, int x, int y, int z, Body const& body) const {
    std::int64_t const count = nodes.count();
    auto const stride_y = static_cast<std::uint32_t>(nodes.z);
    std::uint32_t const stride_x = static_cast<std::uint32_t>(nodes.y) * stride_y;
    std::uint32_t const here = static_cast<std::uint32_t>(x) * stride_x +
                               static_cast<std::uint32_t>(y) * stride_y +
                               static_cast<std::uint32_t>(z);
    bool const has_x[] = {x > 0, true, x + 1 < nodes.x};
    bool const has_y[] = {y > 0, true, y + 1 < nodes.y};
    bool const has_z[] = {z > 0, true, z + 1 < nodes.z};
    T const* const of_sample = couplings + sample * coupling_count * count;
    unrolled<offset_count>([&](auto offset) {
      constexpr int t = decltype(offset)::value;
      if constexpr (t != no_offset) {
        constexpr Step o(t);
        bool const there = has_x[o.x + 1] && has_y[o.y + 1] && has_z[o.z + 1];
        std::uint32_t const other = here + static_cast<std::uint32_t>(o.x) * stride_x +
                                    static_cast<std::uint32_t>(o.y) * stride_y +
                                    static_cast<std::uint32_t>(o.z);
        // It is stored at whichever of the two nodes comes first.
        constexpr int slot = (t > no_offset ? t : offset_count - 1 - t) - no_offset - 1;
        T const* const stored = of_sample + slot * count;
        body(offset, there ? stored[t > no_offset ? here : other] : T(0), there ? other : here);
      }
    });
  }
};

/// (K u)_i = sum_j K_ij (u_j - u_i): constants are in the null space whatever the rounding.
template <class T>
struct ApplyCouplingsJob {
  CouplingEntries<T> k;
  T const* u;  ///< [batch, nodes]
  T* out;      ///< [batch, nodes]

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    auto const [sample, x, y, z] = k.nodes.place(i);
    T const* const values = u + sample * k.nodes.count();
    T const own = u[i];
    T sum = 0;
    k.around(sample, x, y, z,
             [&](auto, T coupling, std::uint32_t node) { sum += coupling * (values[node] - own); });
    out[i] = sum;
  }
};

/// 1 at nodes without couplings: Dirichlet nodes that no free one is beside.
template <class T>
struct CouplingDiagonalJob {
  CouplingEntries<T> k;
  T* out;  ///< [batch, nodes]

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    auto const [sample, x, y, z] = k.nodes.place(i);
    T sum = 0;
    k.around(sample, x, y, z, [&](auto, T coupling, std::uint32_t) { sum -= coupling; });
    out[i] = sum == T(0) ? T(1) : sum;
  }
};

}  // namespace voxcycle
