// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/solver/pcg.hpp"

#include <array>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// The uniform material that lets as much through the box along x, y and z as nu does.
struct [[nodiscard]] EffectiveConductivity {
  std::array<double, 3> value{};  ///< unit of nu
  std::array<int, 3> iterations{};
  std::array<double, 3> relative_residual{};
  /// Shares of the values that they may be too high by, proven (and never too low, but for
  /// rounding): the squares of the solves' error bounds.
  std::array<double, 3> error_bound{};
  bool converged = false;  ///< all three solves
};

/// For each axis: u = 1 and 0 on its two faces, zero flux through the other four; the flow between
/// the two faces times the box's length over the area of its cross-section. Three multigrid PCG
/// solves. Layers across the axis give the harmonic mean, layers along it the arithmetic mean.
/// @param nu  [1, 1, nx, ny, nz], float64, positive and finite
/// @throws Error as solve_multigrid_pcg does.
EffectiveConductivity effective_conductivity(Grid3 const& grid, at::Tensor const& nu,
                                             SolveOptions const& options = {});

}  // namespace voxcycle
