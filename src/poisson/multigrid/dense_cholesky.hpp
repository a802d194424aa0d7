// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Factors of small dense matrices, one a sample, in float64. Written out rather than taken from
/// LAPACK, whose bits depend on the number of threads and on the batch. On a GPU, where
/// substitution is slow, the factors become inverse matrices.
class DenseCholesky {
 public:
  DenseCholesky() = default;
  /// @param matrices  lower triangles [B, n, n] on the host, or whole ones on a GPU, which inverts
  ///                  them itself; float64; overwritten
  /// @param device    where right-hand sides are
  /// @param what      of messages, e.g. "coarsest matrix"
  /// @throws Error if a sample's matrix is not positive definite; while a graph is recorded,
  /// solve gives NaNs instead.
  DenseCholesky(at::Tensor matrices, at::Device device, char const* what);

  /// @param b  [B, n], float64; may be overwritten
  at::Tensor solve(at::Tensor b) const;

 private:
  at::Tensor factor_;   // [B, n, n], lower triangle
  at::Tensor inverse_;  // [B, n, n]; on a GPU, instead of the factor
};

}  // namespace voxcycle
