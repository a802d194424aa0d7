// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/solver/pcg.hpp"

#include <cstddef>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// A field's content by wavenumber. Shell s holds the modes with s - 1/2 <= |k| < s + 1/2, |k| in
/// units of pi / (longest edge of the box).
struct Spectrum {
  std::vector<double> squares;  ///< of amplitudes; sums to the integral of e^2 (lumped masses)
  std::vector<double> energy;   ///< sums to |e|^2 in the norm of K(1), e^T K(1) e
};

/// Expands fields that vanish on the Dirichlet nodes of a box in the eigenfunctions of its
/// constant-coefficient (nu = 1) Q1 problem, products of sines and cosines, by the transforms of
/// FastPoisson. They are orthogonal in both sums, so each is a sum over modes:
/// with c the coefficient of phi and W the nodal weights (volume, 1/2 for each zero-flux face),
/// e^T W e = sum c^2 phi^T W phi and e^T K(1) e = sum lambda c^2 phi^T W phi.
/// Plans are made once; evaluation is const and thread-safe.
class SpectrumOfBox {
 public:
  explicit SpectrumOfBox(Problem const& problem);
  ~SpectrumOfBox();
  SpectrumOfBox(SpectrumOfBox&&) noexcept;
  SpectrumOfBox& operator=(SpectrumOfBox&&) noexcept;

  /// Shells of every Spectrum of this box, empty ones among them.
  std::size_t shells() const;
  /// @param e  on nodes, [1, 1, nx+1, ny+1, nz+1], float64, zero on Dirichlet nodes (values there
  ///           are ignored)
  /// @throws Error for another shape or type
  Spectrum operator()(at::Tensor const& e) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace voxcycle
