// SPDX-License-Identifier: BSD-3-Clause
// What GPUs do node by node (core/element_job.hpp). The order of operations is that of the CPU's
// loops, and so are the bits.
#pragma once

#include "voxcycle/core/element_job.hpp"

#include <cstdint>

namespace voxcycle {

/// out_i = scale * sum of c over the voxels at node i.
template <class T>
struct NodeSumJob {
  T const* voxels;  ///< [batch, nx, ny, nz]
  T* nodes;         ///< [batch, nx+1, ny+1, nz+1]
  std::int64_t nx, ny, nz;
  T scale;

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    std::int64_t const z = i % (nz + 1), y = i / (nz + 1) % (ny + 1);
    std::int64_t const plane = i / ((nz + 1) * (ny + 1));
    std::int64_t const x = plane % (nx + 1), sample = plane / (nx + 1);
    T sum = 0;
    for (std::int64_t xv = x - 1; xv <= x; ++xv) {
      if (xv < 0 || xv >= nx) continue;
      for (std::int64_t yv = y - 1; yv <= y; ++yv) {
        if (yv < 0 || yv >= ny) continue;
        T const* const row = voxels + ((sample * nx + xv) * ny + yv) * nz;
        if (z < nz) sum += row[z];
        if (z > 0) sum += row[z - 1];
      }
    }
    nodes[i] = sum * scale;
  }
};

/// One Chebyshev step: d = keep d + take inverse (b - K x), x += d.
template <class T>
struct ChebyshevJob {
  T keep, take;
  T const *inverse, *b, *k_x;
  T *d, *x;

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    d[i] = keep * d[i] + take * (inverse[i] * (b[i] - k_x[i]));
    x[i] += d[i];
  }
};

/// x /= inverse, and 0 where the inverse is.
template <class T>
struct DivideJob {
  T const* inverse;
  T* x;

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    x[i] = inverse[i] > T(0) ? x[i] / inverse[i] : T(0);
  }
};

}  // namespace voxcycle
