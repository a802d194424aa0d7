// SPDX-License-Identifier: BSD-3-Clause
// Set-up of black box multigrid on GPUs, node by node (core/element_job.hpp): what black_box.cpp
// does row by row on a CPU, in the same order.
#pragma once

#include "voxcycle/core/element_job.hpp"

#include <cstdint>

#include "node_points.hpp"
#include "stencil_offsets.hpp"

namespace voxcycle {

/// Weights of the fine nodes that are odd along the given axes: one such node, numbered [batch,
/// x, y, z] by pairs. Edges first, then faces, then voxels: each needs those before.
/// @tparam Entries  of the fine matrix, see stencil_points.hpp
template <class T, class Entries>
struct BlackBoxWeightJob {
  Entries fine;
  T* weights;  ///< [batch, 26, coarse]
  FieldSize coarse;
  int odd[3];  ///< 0 or 1 an axis

  VOXCYCLE_BOTH FieldSize pairs() const {
    return {coarse.x - odd[0], coarse.y - odd[1], coarse.z - odd[2]};
  }

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    auto const [sample, kx, ky, kz] = pairs().place(i);
    int const x = 2 * kx + odd[0], y = 2 * ky + odd[1], z = 2 * kz + odd[2];
    // -1 times the couplings to each neighbour among these axes' nodes, summed along the others.
    double collapsed[offset_count] = {};
    for (int t = 0; t < offset_count; ++t) {
      int const d = along_odd(t);
      if (d != no_offset) collapsed[d] -= fine(sample, x, y, z, t);
    }
    double sum = 0.0;
    for (int d = 0; d < offset_count; ++d) sum += collapsed[d];

    // What each corner gives: by itself and through nodes nearer to it.
    int const corners = 1 << (odd[0] + odd[1] + odd[2]);
    double shares[8];
    double const least = corners == 2 ? 0.0 : -1.0, most = corners == 2 ? 1.0 : 2.0;
    bool sense = sum > 0.0;
    for (int n = 0; n < corners; ++n) {
      int const c = corner(n);
      double share = 0.0;
      for (int d = 0; d < offset_count; ++d) {
        if (d == no_offset || !towards(Step(d), Step(c))) continue;
        share +=
            collapsed[d] *
            (d == c ? 1.0 : static_cast<double>(*weight(sample, x, y, z, c, d - c + no_offset)));
      }
      shares[n] = share / sum;
      sense = sense && shares[n] >= least && shares[n] <= most;
    }
    for (int n = 0; n < corners; ++n) {
      int const c = corner(n);
      *weight(sample, x, y, z, c, offset_count - 1 - c) =
          static_cast<T>(sense ? shares[n] : 1.0 / corners);
    }
  }

 private:
  /// The offset without its parts along even axes.
  VOXCYCLE_BOTH int along_odd(int t) const {
    Step const o(t);
    return index_of(odd[0] * o.x, odd[1] * o.y, odd[2] * o.z);
  }
  /// Whether an offset lies between zero and a corner along every axis.
  VOXCYCLE_BOTH static bool towards(Step const& d, Step const& c) {
    return (d.x == 0 || d.x == c.x) && (d.y == 0 || d.y == c.y) && (d.z == 0 || d.z == c.z);
  }
  /// Corner n of the edge, face or voxel around the node, in the order of offsets.
  VOXCYCLE_BOTH int corner(int n) const {
    int c = no_offset;
    int const strides[3] = {9, 3, 1};
    for (int axis = 2; axis >= 0; --axis) {
      if (odd[axis] == 0) continue;
      c += n % 2 == 0 ? -strides[axis] : strides[axis];
      n /= 2;
    }
    return c;
  }
  /// The weight that the coarse node at f + c gives to the fine node at offset t of it.
  VOXCYCLE_BOTH T* weight(int sample, int x, int y, int z, int c, int t) const {
    Step const o(c);
    return weights + coarse.index(sample * weight_count + weight_slot(t), (x + o.x) / 2,
                                  (y + o.y) / 2, (z + o.z) / 2);
  }
};

/// Couplings of P^T K P: one element of [batch, 13, coarse].
template <class T, class Entries>
struct BlackBoxCouplingJob {
  Entries fine;
  T const* weights;  ///< [batch, 26, coarse]
  T* couplings;      ///< [batch, 13, coarse]
  FieldSize coarse;

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    auto const [number, x, y, z] = coarse.place(i);
    int const sample = number / coupling_count, s = number % coupling_count + no_offset + 1;
    Step const step(s);
    double sum = 0.0;
    if (coarse.holds(x + step.x, y + step.y, z + step.z)) {
      // P(f, I) K(f, g) P(g, J) for the fine nodes f around I and all their neighbours g = f + o
      // that J = I + step gives to.
      for (int i_f = 0; i_f < offset_count; ++i_f) {
        Step const f(i_f);
        int const xf = 2 * x + f.x, yf = 2 * y + f.y, zf = 2 * z + f.z;
        if (!fine.nodes.holds(xf, yf, zf)) continue;
        double const p = weight(sample, x, y, z, i_f);
        for (int t = 0; t < offset_count; ++t) {
          Step const o(t);
          int const gx = f.x + o.x - 2 * step.x, gy = f.y + o.y - 2 * step.y;
          int const gz = f.z + o.z - 2 * step.z;
          if (gx < -1 || gx > 1 || gy < -1 || gy > 1 || gz < -1 || gz > 1) continue;
          double const q = weight(sample, x + step.x, y + step.y, z + step.z, index_of(gx, gy, gz));
          sum += p * fine(sample, xf, yf, zf, t) * q;
        }
      }
    }
    couplings[i] = static_cast<T>(sum);
  }

 private:
  VOXCYCLE_BOTH double weight(int sample, int x, int y, int z, int t) const {
    if (t == no_offset) return 1.0;
    return static_cast<double>(
        weights[coarse.index(sample * weight_count + weight_slot(t), x, y, z)]);
  }
};

/// Calls run(count, job) for the jobs that make all weights, in order.
/// @param weights  [batch, 26, coarse]
template <class T, class Entries, class Run>
void black_box_weight_jobs(Entries const& fine, std::int64_t batch, FieldSize const& coarse,
                           T* weights, Run const& run) {
  for (int odd_axes = 1; odd_axes <= 3; ++odd_axes) {
    for (int axes = 1; axes < 8; ++axes) {
      BlackBoxWeightJob<T, Entries> const job{
          fine, weights, coarse, {axes / 4, axes / 2 % 2, axes % 2}};
      if (job.odd[0] + job.odd[1] + job.odd[2] != odd_axes) continue;
      run(batch * job.pairs().count(), job);
    }
  }
}

}  // namespace voxcycle
