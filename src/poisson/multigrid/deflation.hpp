// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/poisson/boundary.hpp"

#include <cstdint>
#include <functional>
#include <optional>

#include "poisson/multigrid/dense_cholesky.hpp"
#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Constants in conducting bodies (conducting_bodies.hpp), solved for directly. An error that is
/// constant in a body costs next to no energy, and a residual shows next to nothing of it:
/// smoothing does not touch it, and coarse grids lose the bodies that are smaller than their
/// voxels. With Z the bodies' indicator functions, Q = Z (Z^T K Z)^-1 Z^T, and B a cycle, this is
/// the balancing preconditioner of Mandel (1993; compared with others by Tang, Nabben, Vuik and
/// Erlangga, 2009)
///
///     Q + (1 - Q K) B (1 - K Q),
///
/// symmetric positive definite, and exact on the span of Z. Within bodies K Z is zero, so that K is
/// taken without them: a contrast of any size costs no digits.
class Deflation {
 public:
  /// @param nu  of one sample, [1, 1, nx, ny, nz]
  /// @return nothing where there are no such bodies, or their matrix is singular but for rounding
  static std::optional<Deflation> of(Grid3 const& grid, Boundary const& boundary,
                                     at::Tensor const& nu);

  /// @param r      [1, 1, nodes], float64
  /// @param cycle  B
  /// @return float64, of r's shape
  at::Tensor apply(at::Tensor const& r,
                   std::function<at::Tensor(at::Tensor const&)> const& cycle) const;

  std::int64_t bodies() const { return first_chunk_.numel() - 1; }

 private:
  Deflation() = default;
  at::Tensor coarse_solution(at::Tensor const& field) const;  ///< (Z^T K Z)^-1 Z^T field: [bodies]
  void add(at::Tensor const& values, at::Tensor const& field) const;  ///< field += Z values

  Grid3 grid_{};
  at::Tensor outside_;                  ///< nu, 0 in bodies
  at::Tensor first_, end_, body_;       ///< of runs, see ConductingBodies
  at::Tensor first_run_, first_chunk_;  ///< of chunks of runs, of bodies; and their ends
  DenseCholesky coarse_;
};

}  // namespace voxcycle
