// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/grid/grid3.hpp"
#include "voxcycle/poisson/boundary.hpp"

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Loss of each sample of one unit, and its slope in u; the step divides by the global batch.
struct LossTerms {
  at::Tensor values;    ///< [n], float64
  at::Tensor gradient;  ///< d values / d u, shape and dtype of u
};

/// What training minimises, a sum over samples.
class Loss {
 public:
  virtual ~Loss() = default;
  /// @param u   one unit [n, 1, nx+1, ny+1, nz+1]
  /// @param nu  [n, 1, nx, ny, nz], dtype of u
  virtual LossTerms evaluate(at::Tensor const& u, at::Tensor const& nu) const = 0;
};

/// Names accepted by make_loss.
std::vector<std::string> loss_names();
/// @throws Error for an unknown name, listing the valid ones.
std::unique_ptr<Loss> make_loss(std::string const& name, Grid3 const& grid,
                                Boundary const& boundary);

}  // namespace voxcycle
