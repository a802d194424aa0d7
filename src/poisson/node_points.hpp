// SPDX-License-Identifier: BSD-3-Clause
// What GPUs do node by node: one thread an element. The order of operations is that of the CPU's
// loops, and so are the bits.
#pragma once

#include "voxcycle/core/block_program.hpp"

#include <cstdint>

namespace voxcycle {

/// out_i = scale * sum of c over the voxels at node i.
template <class T>
struct NodeSumJob {
  T const* voxels;  ///< [batch, nx, ny, nz]
  T* nodes;         ///< [batch, nx+1, ny+1, nz+1]
  std::int64_t batch, nx, ny, nz;
  T scale;

  VOXCYCLE_BOTH std::int64_t count() const { return batch * (nx + 1) * (ny + 1) * (nz + 1); }
};

template <class T>
VOXCYCLE_BOTH void sum_at_node(NodeSumJob<T> const& job, std::int64_t i) {
  if (i >= job.count()) return;
  std::int64_t const z = i % (job.nz + 1), y = i / (job.nz + 1) % (job.ny + 1);
  std::int64_t const plane = i / ((job.nz + 1) * (job.ny + 1));
  std::int64_t const x = plane % (job.nx + 1), sample = plane / (job.nx + 1);
  T sum = 0;
  for (std::int64_t xv = x - 1; xv <= x; ++xv) {
    if (xv < 0 || xv >= job.nx) continue;
    for (std::int64_t yv = y - 1; yv <= y; ++yv) {
      if (yv < 0 || yv >= job.ny) continue;
      T const* const row = job.voxels + ((sample * job.nx + xv) * job.ny + yv) * job.nz;
      if (z < job.nz) sum += row[z];
      if (z > 0) sum += row[z - 1];
    }
  }
  job.nodes[i] = sum * job.scale;
}

/// One Chebyshev step: d = keep d + take inverse (b - K x), x += d.
template <class T>
struct ChebyshevJob {
  T keep, take;
  T const *inverse, *b, *k_x;
  T *d, *x;
  std::int64_t count;
};

template <class T>
VOXCYCLE_BOTH void chebyshev_at(ChebyshevJob<T> const& job, std::int64_t i) {
  if (i >= job.count) return;
  job.d[i] = job.keep * job.d[i] + job.take * (job.inverse[i] * (job.b[i] - job.k_x[i]));
  job.x[i] += job.d[i];
}

/// x /= inverse, and 0 where the inverse is.
template <class T>
struct DivideJob {
  T const* inverse;
  T* x;
  std::int64_t count;
};

template <class T>
VOXCYCLE_BOTH void divide_at(DivideJob<T> const& job, std::int64_t i) {
  if (i >= job.count) return;
  job.x[i] = job.inverse[i] > T(0) ? job.x[i] / job.inverse[i] : T(0);
}

}  // namespace voxcycle
