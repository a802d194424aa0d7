// SPDX-License-Identifier: BSD-3-Clause
// The effective conductivity of a medium that repeats a box, in all directions at once.
#pragma once

#include "voxcycle/grid/grid3.hpp"

#include <array>
#include <limits>

#include <ATen/core/Tensor.h>

namespace voxcycle {

struct PeriodicTensorOptions {
  double tolerance = 1e-6;    ///< of the tensor, proven: share that solving leaves, (0, 1)
  int max_iterations = 2000;  ///< for each direction
};

/// With the cell problem's solution chi_j, periodic, the least integral of nu |e_j + grad chi_j|^2,
///
///     K_ij = 1/|Y| integral of nu (e_i + grad chi_i) . (e_j + grad chi_j)
///
/// over the box Y. chi_j is trilinear. By Hill's lemma K maps mean gradients to mean flows, and
/// xi . K xi is an energy: for no xi is it below that of the geometry, material of constant nu in
/// each voxel, nor, however early a solve stops, below the discrete equations' own.
struct [[nodiscard]] PeriodicTensor {
  using Vector = std::array<double, 3>;

  std::array<Vector, 3> matrix{};                ///< symmetric, in nu's unit
  Vector principal_values{};                     ///< ascending
  std::array<Vector, 3> principal_directions{};  ///< unit vectors, one for each value
  std::array<int, 3> iterations{};               ///< for each j
  Vector relative_residuals{};                   ///< |b - K chi| / |b|, for each j
  /// In no direction is xi . K xi above that of the discrete equations' solution by more than this
  /// share of it: what the solver left, without what the voxels leave. Infinity where nothing is
  /// proven.
  double error = std::numeric_limits<double>::infinity();
  double contrast = 1.0;  ///< largest over least nu: iterations grow with its root
  double seconds = 0.0;
  bool converged = false;  ///< error <= tolerance
};

/// By conjugate gradients, preconditioned by FFTs, on the CPU.
/// @param nu  [nx, ny, nz] or [1, 1, nx, ny, nz], float32 or float64, > 0 and finite
/// @throws Error naming what does not fit.
PeriodicTensor periodic_tensor(Grid3 const& grid, at::Tensor const& nu,
                               PeriodicTensorOptions const& options = {});

}  // namespace voxcycle
