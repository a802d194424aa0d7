// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/solver/pcg.hpp"
#include "voxcycle/solver/solver.hpp"

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
  EmptyPart empty{};              ///< nu is 0 there
};

/// Bodies that touch no Dirichlet face are dropped (conducting_part).
/// @param nu   [nx, ny, nz], float32 or float64
/// @param box  default: unit_box
/// @param f    [nx, ny, nz] or one number; default 0; acts where nu is positive
/// @param comm  null, or processes that share out the box, which is then given; nu and f are those
///              of a part
/// @throws Error naming what does not fit, values of nu that are negative or not finite, nu without
///         a conductor that touches a Dirichlet face, and a source in a body that was dropped.
Equation make_equation(Boundary const& boundary, Scheme scheme, at::Tensor const& nu,
                       std::optional<Grid3> const& box, std::optional<at::Tensor> const& f,
                       Communicator const* comm = nullptr);

/// 1 where a node has an equation or a Dirichlet value beside a conductor, else 0: of u.
at::Tensor live_unknowns(Equation const& e);

/// J(u) of the problem.
double energy_of(Equation const& e, at::Tensor const& u);

}  // namespace voxcycle
