// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/solver/pcg.hpp"

#include <cstdint>
#include <optional>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// A trilinear solution that need not be found again.
struct KnownSolution {
  int axis = 0;  ///< along which it goes from 1 to 0, with zero flux through the other faces
  at::Tensor u;  ///< [nx+1, ny+1, nz+1], float64
  double error_bound = 0.0;  ///< see SolveResult
  int iterations = 0;
};

/// The axis along which a boundary has 1 and 0, and zero flux elsewhere; nothing for others.
std::optional<int> unit_axis(Boundary const& boundary);

/// How conductivity_along solves.
struct ConductivityOptions {
  double tolerance = 1e-6;  ///< of each value, proven: share that solving leaves, (0, 1)
  int max_iterations = 500;
  at::Device device = at::kCPU;
  /// Taken where all of nu is positive and it is good enough for the tolerance.
  std::optional<KnownSolution> known{};
};

/// What the voxel geometry lets through along one axis, between two values that are proven: the
/// material of constant nu within each voxel, u = 1 and 0 on the two faces, zero flux through the
/// other four. All in nu's unit.
struct [[nodiscard]] AxisConductivity {
  double upper = 0.0;  ///< the energy of a trilinear u (Q1): not below the geometry's
  double lower = 0.0;  ///< from the energy of a finite volume flux: not above it
  double mean = 0.0;   ///< (upper + lower) / 2
  /// Shares of `upper` and `lower` by which the discrete equations' own solutions may be lower and
  /// higher: what the solver left. Infinity where nothing is proven. The rest of upper - lower is
  /// the voxels'.
  double upper_error = 0.0;
  double lower_error = 0.0;
  int iterations_upper = 0;
  int iterations_lower = 0;
  double seconds = 0.0;
  std::int64_t dropped_voxels = 0;  ///< of positive nu that do not lead from face to face
  /// Whether voxels of positive nu lead from face to face through shared faces. If not, nothing
  /// flows: all values are 0, and exact.
  bool percolates = true;
  bool converged = true;  ///< both solves, to the tolerance
};

/// @param nu    [nx, ny, nz] or [1, 1, nx, ny, nz], float32 or float64, >= 0 and finite; where it
///              is 0 nothing flows
/// @param axis  0, 1 or 2: along x, y or z
/// @throws Error naming what does not fit.
AxisConductivity conductivity_along(Grid3 const& grid, at::Tensor const& nu, int axis,
                                    ConductivityOptions const& options = {});

}  // namespace voxcycle
