// SPDX-License-Identifier: BSD-3-Clause
// Matrices of 27 entries a row on GPUs, node by node (core/element_job.hpp): what stencil_rows.hpp
// and StencilOperator are on a CPU.
#pragma once

#include "voxcycle/core/element_job.hpp"

#include <cstdint>

#include "node_points.hpp"
#include "stencil_offsets.hpp"

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

  /// Between a node and its neighbour at offset t; 0 if that is outside of the grid.
  VOXCYCLE_BOTH double operator()(int sample, int x, int y, int z, int t) const {
    FieldSize const voxels{nodes.x - 1, nodes.y - 1, nodes.z - 1};
    Step const o(t);
    double sum = 0.0;
    for (int xv = x - (o.x <= 0); xv <= x - (o.x < 0); ++xv) {
      for (int yv = y - (o.y <= 0); yv <= y - (o.y < 0); ++yv) {
        for (int zv = z - (o.z <= 0); zv <= z - (o.z < 0); ++zv) {
          if (voxels.holds(xv, yv, zv)) {
            sum += static_cast<double>(nu[voxels.index(sample, xv, yv, zv)]);
          }
        }
      }
    }
    return sum * element[4 * (o.x != 0) + 2 * (o.y != 0) + (o.z != 0)];
  }
};

/// Entries of a symmetric matrix whose rows sum to zero.
template <class T>
struct CouplingEntries {
  T const* couplings;  ///< [batch, 13, nodes] with the neighbours at offsets 14 to 26
  FieldSize nodes;

  /// Between a node and its neighbour at offset t; 0 if that is outside of the grid.
  VOXCYCLE_BOTH double operator()(int sample, int x, int y, int z, int t) const {
    if (t != no_offset) return static_cast<double>(coupling(sample, x, y, z, t));
    double sum = 0.0;
    for (int other = 0; other < offset_count; ++other) {
      if (other != no_offset) sum -= static_cast<double>(coupling(sample, x, y, z, other));
    }
    return sum;
  }

  VOXCYCLE_BOTH T coupling(int sample, int x, int y, int z, int t) const {
    Step const o(t);
    if (!nodes.holds(x + o.x, y + o.y, z + o.z)) return T(0);
    // It is stored at whichever of the two nodes comes first.
    if (t > no_offset) {
      return couplings[nodes.index(sample * coupling_count + t - no_offset - 1, x, y, z)];
    }
    int const slot = offset_count - 1 - t - no_offset - 1;
    return couplings[nodes.index(sample * coupling_count + slot, x + o.x, y + o.y, z + o.z)];
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
    T sum = 0;
    for (int t = 0; t < offset_count; ++t) {
      Step const o(t);
      if (t == no_offset || !k.nodes.holds(x + o.x, y + o.y, z + o.z)) continue;
      sum += k.coupling(sample, x, y, z, t) *
             (u[k.nodes.index(sample, x + o.x, y + o.y, z + o.z)] - u[i]);
    }
    out[i] = sum;
  }
};

template <class T>
struct CouplingDiagonalJob {
  CouplingEntries<T> k;
  T* out;  ///< [batch, nodes]

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    auto const [sample, x, y, z] = k.nodes.place(i);
    T sum = 0;
    for (int t = 0; t < offset_count; ++t) {
      if (t != no_offset) sum -= k.coupling(sample, x, y, z, t);
    }
    out[i] = sum;
  }
};

}  // namespace voxcycle
