// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/space.hpp"
#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/poisson/boundary.hpp"
#include "voxcycle/poisson/finite_volume.hpp"

#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// What opposite faces of a box are to each other.
enum class OppositeFaces {
  apart,  ///< two, each with its condition
  one     ///< the same: fields are periodic
};

/// -div(nu grad u) = f on a box with a constant condition a face.
struct Problem {
  Grid3 grid;
  Boundary boundary;
  Scheme scheme = Scheme::q1;
  /// `one` for Q1, nu > 0, zero flux on all faces (u is then free of conditions), and FFTs only.
  OppositeFaces opposite = OppositeFaces::apart;
  /// Where processes share out the grid, for Q1 and nu > 0: all fields are then those of a part,
  /// and what works on them is **collective**.
  std::shared_ptr<Space const> space{};

  /// Whose nodes the unknowns are: the grid itself for Q1, without the upper faces if periodic,
  /// else FiniteVolumePoints.
  Grid3 unknowns() const;
  /// What this process has of them.
  Space here() const { return space ? *space : Space(unknowns()); }
};

struct SolveOptions {
  double tolerance = 1e-10;  ///< relative residual |b - K u| / |b - K lift| over free nodes
  int max_iterations = 500;
  /// A proven bound of the relative energy-norm error (SolveResult::error_bound) to reach as well,
  /// as far as rounding lets it: a residual alone tells little at contrasts beyond 1e5. Infinity:
  /// the residual alone counts, and no bound is made.
  double energy_error = 1e-4;
};

/// The Q1 problem of the box whose opposite faces are one.
Problem periodic_problem(Grid3 const& grid);

/// What an iterative solver reached.
struct [[nodiscard]] SolveResult {
  at::Tensor u;  ///< on the unknowns' grid, for Q1 [1, 1, nx+1, ny+1, nz+1], float64
  int iterations = 0;
  double relative_residual = 0.0;
  bool converged = false;  ///< to the tolerance, or to what rounding leaves where that is above it
  /// |u - u*|_K / |u*|_K is not larger (u* measured from the boundary's datum), however nu looks;
  /// wide at high contrast, infinity where nothing is proven. u* is the discrete equation's
  /// solution.
  double error_bound = std::numeric_limits<double>::infinity();
};

/// z = B r, with r and z zero on Dirichlet nodes; B symmetric positive definite.
using Preconditioner = std::function<at::Tensor(at::Tensor const& r)>;

/// Preconditioned conjugate gradients for one sample in float64. Pure zero-flux problems have their
/// solution's mean set to zero.
/// @param nu     [1, 1, nx, ny, nz], float64, >= 0: where all of a node's voxels are 0, u means
///               nothing
/// @param b      load or empty
/// @param start  starting field with the right Dirichlet values, or empty for the lift; overwritten
///               where nobody else holds it
/// @throws Error if a pure zero-flux problem's load does not sum to zero (no solution exists).
SolveResult solve_pcg(Problem const& problem, at::Tensor const& nu,
                      Preconditioner const& precondition, SolveOptions const& options = {},
                      std::optional<at::Tensor> const& b = std::nullopt,
                      std::optional<at::Tensor> start = std::nullopt);

}  // namespace voxcycle
