// SPDX-License-Identifier: BSD-3-Clause
// Small dense matrices on GPUs: written row by row, inverted a sample a block. What
// coarsest_solver.cpp and dense_cholesky.cpp are on a CPU.
#pragma once

#include "voxcycle/core/block_program.hpp"

#include <cmath>
#include <cstdint>
#include <tuple>

#include "poisson/operator/stencil_points.hpp"

namespace voxcycle {

/// Row i of a matrix as a dense one. Its diagonal is what makes the row sum to zero: a conductor
/// that touches no Dirichlet face has a mode whose stiffness would be lost in the rounding of a
/// diagonal of float32.
template <class Entries>
struct DenseRowJob {
  Entries k;
  double* matrices;  ///< [batch, n, n], zeros

  VOXCYCLE_BOTH void operator()(std::int64_t i) const {
    std::int64_t const n = k.nodes.count();
    auto const [sample, x, y, z] = k.nodes.place(i);
    double entries[offset_count];
    k.row(sample, x, y, z, entries);
    double* const row = matrices + i * n;
    double sum = 0.0;
    unrolled<offset_count>([&](auto offset) {
      constexpr int t = decltype(offset)::value;
      constexpr Step o(t);
      if (t == no_offset || !k.nodes.holds(x + o.x, y + o.y, z + o.z)) return;
      row[k.nodes.index(0, x + o.x, y + o.y, z + o.z)] = entries[t];
      sum += entries[t];
    });
    row[i % n] = -sum;
  }
};

template <class T>
using DenseJobs = std::tuple<DenseRowJob<VoxelEntries<T>>, DenseRowJob<CouplingEntries<T>>>;

/// A^-1 in place of A.
struct InverseJob {
  double* matrices;  ///< [batch, n, n], symmetric positive definite
  std::int64_t n;    ///< at most InverseShared::max_size
};

struct InverseShared {
  static constexpr int max_size = 1500;
  double row[max_size], column[max_size];
};

/// By Gauss and Jordan without pivoting, which a positive definite matrix does not need. A pivot
/// that is not positive leaves NaNs everywhere.
template <class Block>
VOXCYCLE_BOTH void inverse_block(Block& block, InverseShared& shared, InverseJob const& job,
                                 std::int64_t sample) {
  std::int64_t const n = job.n;
  double* const a = job.matrices + sample * n * n;
  for (std::int64_t p = 0; p < n; ++p) {
    block.each([=, &shared](int thread) {
      for (std::int64_t i = thread; i < n; i += block_threads) {
        shared.row[i] = a[p * n + i];
        shared.column[i] = a[i * n + p];
      }
    });
    block.sync();
    block.each([=, &shared](int thread) {
      double const pivot = shared.row[p];
      double const inverse = pivot > 0.0 ? 1.0 / pivot : static_cast<double>(NAN);
      for (std::int64_t e = thread; e < n * n; e += block_threads) {
        std::int64_t const i = e / n, j = e % n;
        double const scaled = shared.row[j] * inverse;
        if (i == p) {
          a[e] = j == p ? inverse : scaled;
        } else {
          a[e] = j == p ? -shared.column[i] * inverse : a[e] - shared.column[i] * scaled;
        }
      }
    });
    block.sync();
  }
}

}  // namespace voxcycle
