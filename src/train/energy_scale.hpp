// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/poisson/multigrid.hpp"
#include "voxcycle/train/loss.hpp"

#include <optional>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// The natural size of a sample's energy, by which losses are divided so that every sample counts
/// alike: the energy stored in its solution,
///
///     J_scale = 1/2 u^T K(nu) u,      u = lift + one full multigrid cycle on b - K(nu) lift.
///
/// By Ritz J / J_scale is then, but for a constant, the squared relative error in the energy norm.
/// One cycle is enough: u has 1.00 to 1.01 times the solution's energy on kl and lognormal fields,
/// 1.0 to 4.5 times on spheres and boxes of contrast 1e3 at 8^3 and 1.0 to 2.1 times on finer
/// grids, where the lift has 4 to 120 times as much.
class EnergyScale {
 public:
  /// @param loss  name, for the message
  /// @throws Error if every solution is constant: the boundary values are equal and f is zero; or
  /// for a source with zero flux on all faces.
  EnergyScale(std::string const& loss, LossProblem const& problem);

  /// u above. @param multigrid  for the problem and nu @param b  load, nothing for f = 0
  at::Tensor solution(at::Tensor const& nu, Multigrid const& multigrid,
                      std::optional<at::Tensor> const& b) const;
  /// 1/2 u^T K(nu) u: [n], float64
  at::Tensor stored_energy(at::Tensor const& u, at::Tensor const& nu) const;

 private:
  Space space_;
  at::Tensor lift_;  // float64
};

}  // namespace voxcycle
