// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/space.hpp"
#include "voxcycle/field/source.hpp"

#include <optional>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// The source f of the equation on one grid, or this process' part of it, and the load that it
/// makes. Members are **collective** on parts.
class SourceTerm {
 public:
  SourceTerm(Space const& space, Source const& source, at::Device device);

  bool is_zero() const { return source_.is_zero(); }
  /// b of a micro-batch, [n or 1, 1, nx+1, ny+1, nz+1]; nothing for f = 0.
  /// @param f     voxels [n, 1, nx, ny, nz] of `type`; looked at for sampled sources only
  /// @param type  of the load
  std::optional<at::Tensor> load(at::Tensor const& f, at::ScalarType type) const;

 private:
  Space space_;
  Source source_;
  at::Tensor load_;  // of a constant source, float64
};

}  // namespace voxcycle
