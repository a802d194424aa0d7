// SPDX-License-Identifier: BSD-3-Clause
// What GPUs do between grids (poisson/multigrid/transfer.hpp), element by element
// (core/element_job.hpp). Coarse node I is fine node 2I.
#pragma once

#include "voxcycle/core/element_job.hpp"

#include <cstdint>

#include "poisson/operator/node_points.hpp"
#include "poisson/operator/stencil_offsets.hpp"

namespace voxcycle {

/// P^T r of trilinear interpolation, one coarse node.
template <class T>
struct RestrictJob {
  T const* r;  ///< [batch, fine]
  T* out;      ///< [batch, coarse]
  FieldSize fine, coarse;

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    auto const [sample, x, y, z] = coarse.place(i);
    T sum = 0;
    for (int t = 0; t < offset_count; ++t) {
      Step const o(t);
      int const xf = 2 * x + o.x, yf = 2 * y + o.y, zf = 2 * z + o.z;
      // Not those beyond the last coarse node, either.
      if (!fine.holds(xf, yf, zf) || !coarse.holds((xf + 1) / 2, (yf + 1) / 2, (zf + 1) / 2)) {
        continue;
      }
      T weight = 1;
      if (xf % 2 != 0) weight *= T(0.5);
      if (yf % 2 != 0) weight *= T(0.5);
      if (zf % 2 != 0) weight *= T(0.5);
      sum += weight * r[fine.index(sample, xf, yf, zf)];
    }
    out[i] = sum;
  }
};

/// x += P e of trilinear interpolation, one fine node.
template <class T>
struct ProlongJob {
  T const* e;  ///< [batch, coarse]
  T* x;        ///< [batch, fine]
  FieldSize fine, coarse;

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    auto const [sample, xf, yf, zf] = fine.place(i);
    T sum = 0;
    // The mean over the coarse nodes before and behind along each axis, which may be one.
    if (!coarse.holds((xf + 1) / 2, (yf + 1) / 2, (zf + 1) / 2)) return;
    for (int t = 0; t < 8; ++t) {
      sum += e[coarse.index(sample, (xf + t / 4) / 2, (yf + t / 2 % 2) / 2, (zf + t % 2) / 2)];
    }
    x[i] += T(0.125) * sum;
  }
};

/// The mean of eight voxels, 0 outside of the grid: one coarse voxel.
template <class T>
struct AverageJob {
  T const* nu;             ///< [batch, fine]
  T* out;                  ///< [batch, coarse]
  FieldSize fine, coarse;  ///< in voxels

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    auto const [sample, x, y, z] = coarse.place(i);
    T sum = 0;
    for (int t = 0; t < 8; ++t) {
      int const xf = 2 * x + t / 4, yf = 2 * y + t / 2 % 2, zf = 2 * z + t % 2;
      if (fine.holds(xf, yf, zf)) sum += nu[fine.index(sample, xf, yf, zf)];
    }
    out[i] = T(0.125) * sum;
  }
};

/// P^T r of black box interpolation, one coarse node.
template <class T>
struct WeightedRestrictJob {
  T const* weights;  ///< [batch, 26, coarse], see black_box_weights
  T const* r;        ///< [batch, fine]
  T* out;            ///< [batch, coarse]
  FieldSize fine, coarse;

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    auto const [sample, x, y, z] = coarse.place(i);
    bool const has_own = fine.holds(2 * x, 2 * y, 2 * z);
    T sum = has_own ? r[fine.index(sample, 2 * x, 2 * y, 2 * z)] : T(0);
    for (int t = 0; t < offset_count; ++t) {
      Step const o(t);
      int const xf = 2 * x + o.x, yf = 2 * y + o.y, zf = 2 * z + o.z;
      if (t == no_offset || !fine.holds(xf, yf, zf)) continue;
      sum += weights[coarse.index(sample * weight_count + weight_slot(t), x, y, z)] *
             r[fine.index(sample, xf, yf, zf)];
    }
    out[i] = sum;
  }
};

/// x += P e of black box interpolation, one fine node.
template <class T>
struct WeightedProlongJob {
  T const* weights;  ///< [batch, 26, coarse], see black_box_weights
  T const* e;        ///< [batch, coarse]
  T* x;              ///< [batch, fine]
  FieldSize fine, coarse;

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    auto const [sample, xf, yf, zf] = fine.place(i);
    T sum = 0;
    for (int xc = xf / 2; xc <= (xf + 1) / 2; ++xc) {
      for (int yc = yf / 2; yc <= (yf + 1) / 2; ++yc) {
        for (int zc = zf / 2; zc <= (zf + 1) / 2; ++zc) {
          if (!coarse.holds(xc, yc, zc)) continue;
          int const t = index_of(xf - 2 * xc, yf - 2 * yc, zf - 2 * zc);
          T const value = e[coarse.index(sample, xc, yc, zc)];
          sum += t == no_offset
                     ? value
                     : weights[coarse.index(sample * weight_count + weight_slot(t), xc, yc, zc)] *
                           value;
        }
      }
    }
    x[i] += sum;
  }
};

}  // namespace voxcycle
