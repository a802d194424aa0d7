// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/solver/pcg.hpp"

#include <memory>
#include <optional>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Exact solver of the constant-coefficient (nu = 1) Q1 system on any mix of Dirichlet and
/// zero-flux faces, or on periodic ones, by real-to-real FFTs (FFTW): the Q1 matrices K1 and M1 of
/// an axis share the eigenvectors of its sine or cosine transform, with lambda = (2 - 2 cos
/// theta)/h and mu = h (4 + 2 cos theta)/6 (table in README). Neumann end rows carry weight 1/2.
/// Plans are made once; solve is const and thread-safe.
class FastPoisson {
 public:
  explicit FastPoisson(Problem const& problem);
  ~FastPoisson();
  FastPoisson(FastPoisson&&) noexcept;
  FastPoisson& operator=(FastPoisson&&) noexcept;

  /// @param r  right-hand side on nodes [1, 1, nx+1, ny+1, nz+1], if periodic [1, 1, nx, ny, nz],
  ///           float64, zero on Dirichlet nodes
  /// @return z with K(1) z = r on free nodes, zero on Dirichlet nodes (and of zero mean when all
  ///         faces are zero-flux: then r's mean is ignored)
  at::Tensor solve(at::Tensor const& r) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The fast Poisson solver, scaled by nu^(-1/2) on both sides. Refers to `fast`, which must be made
/// for the same problem. @throws Error unless nu > 0
Preconditioner fft_preconditioner(Problem const& problem, at::Tensor const& nu,
                                  FastPoisson const& fast);

/// Reference solution by conjugate gradients with this preconditioner. Arguments as solve_pcg.
SolveResult solve_fft_pcg(Problem const& problem, at::Tensor const& nu, FastPoisson const& fast,
                          SolveOptions const& options = {},
                          std::optional<at::Tensor> const& b = std::nullopt,
                          std::optional<at::Tensor> const& start = std::nullopt);

}  // namespace voxcycle
