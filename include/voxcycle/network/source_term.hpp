// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/field/source.hpp"
#include "voxcycle/grid/grid3.hpp"

#include <optional>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// The source f of the equation on one grid, and the load that it makes.
class SourceTerm {
 public:
  SourceTerm(Grid3 const& grid, Source const& source, at::Device device);

  bool is_zero() const { return source_.is_zero(); }
  /// b of a micro-batch, [n or 1, 1, nx+1, ny+1, nz+1]; nothing for f = 0.
  /// @param f     voxels [n, 1, nx, ny, nz] of `type`; looked at for sampled sources only
  /// @param type  of the load
  std::optional<at::Tensor> load(at::Tensor const& f, at::ScalarType type) const;

 private:
  Grid3 grid_;
  Source source_;
  at::Tensor load_;  // of a constant source, float64
};

}  // namespace voxcycle
