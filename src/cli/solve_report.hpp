// SPDX-License-Identifier: BSD-3-Clause
// What voxcycle solve tells of a solution: lines, JSON, pictures.
#pragma once

#include "voxcycle/reference/conductivity.hpp"
#include "voxcycle/solver.hpp"

#include <optional>
#include <string>

#include <ATen/core/Tensor.h>

namespace voxcycle {

struct SolveReport {
  std::string nu;       ///< where the coefficient lies
  std::string model;    ///< "none", or the checkpoint
  std::string network;  ///< its name and sizes
  std::string boundary;
  double tolerance = 0.0;
  Solution solution;
  std::optional<Solution> from_lift{};  ///< the same problem solved from the lift, to compare
  std::optional<EffectiveConductivity> conductivity{};
};

/// A dozen lines: what each part cost, what was reached, what the network saved.
std::string solve_text(SolveReport const& report);
std::string solve_json(SolveReport const& report);

/// Writes the middle planes across x, y and z of u and log10 nu as <directory>/u_x.png, ...
/// @param u, nu  [nx+1, ny+1, nz+1] and [nx, ny, nz], float64
/// @throws Error if the disk is full.
void write_slices(std::string const& directory, at::Tensor const& u, at::Tensor const& nu);

}  // namespace voxcycle
