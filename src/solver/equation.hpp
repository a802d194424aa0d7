// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/solver/pcg.hpp"

#include <optional>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// One problem of class Solver, checked.
struct Equation {
  Problem problem;
  at::Tensor nu;                  ///< [1, 1, nx, ny, nz], float64
  double constant = 0.0;          ///< the source, if it is one number
  at::Tensor f{};                 ///< else [1, 1, nx, ny, nz], float64
  std::optional<at::Tensor> b{};  ///< load, unless f is 0
};

/// @param nu   [nx, ny, nz], float32 or float64
/// @param box  default: unit_box
/// @param f    [nx, ny, nz] or one number; default 0
/// @throws Error naming what does not fit, and values of nu that are not positive and finite.
Equation make_equation(Boundary const& boundary, at::Tensor const& nu,
                       std::optional<Grid3> const& box, std::optional<at::Tensor> const& f);

/// J(u) of the problem.
double energy_of(Equation const& e, at::Tensor const& u);

}  // namespace voxcycle
