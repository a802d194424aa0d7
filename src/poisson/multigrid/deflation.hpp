// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/space.hpp"
#include "voxcycle/poisson/boundary.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

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
  /// **Collective**, as apply. @param nu  of one sample, [1, 1, nx, ny, nz] of the part
  /// @param boundary  of the whole grid
  /// @return nothing where there are no such bodies, or their matrix is singular but for rounding
  static std::optional<Deflation> of(Space const& space, Boundary const& boundary,
                                     at::Tensor const& nu);

  /// @param r      [1, 1, nodes] of the part, float64, right on own nodes
  /// @param cycle  B, whose result is right on own nodes and those next to them
  /// @return float64, of r's shape
  at::Tensor apply(at::Tensor const& r,
                   std::function<at::Tensor(at::Tensor const&)> const& cycle) const;

  std::int64_t bodies() const { return first_chunk_.numel() - 1; }

 private:
  explicit Deflation(Space space) : space_(std::move(space)) {}
  at::Tensor coarse_solution(at::Tensor const& field) const;  ///< (Z^T K Z)^-1 Z^T field: [bodies]
  void add(at::Tensor const& values, at::Tensor const& field) const;  ///< field += Z values

  Space space_;
  at::Tensor outside_;                  ///< nu, 0 in bodies
  at::Tensor first_, end_, body_;       ///< of runs of the part, see ConductingBodies
  at::Tensor own_first_, own_end_;      ///< of those on own nodes
  at::Tensor first_run_, first_chunk_;  ///< of chunks of own runs, of bodies; and their ends
  DenseCholesky coarse_;
};

}  // namespace voxcycle
