// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/train/loss.hpp"

#include "train/source_term.hpp"
#include <ATen/core/Tensor.h>

namespace voxcycle {

/// The natural size of a sample's energy, by which losses are divided so that every sample counts
/// alike:
///
///     J_scale = 1/2 lift^T K(nu) lift + 1/2 V mean(f^2) mean(1/nu) / lambda
///
/// with V the volume of the box and lambda the least eigenvalue of -Laplace on it with the same
/// kinds of faces. The first term (half the mean of nu for the default boundary) is the energy that
/// boundary values cost before anything is learned; the second is about the energy that f releases
/// alone, within a fifth for constant nu and f between two Dirichlet faces.
class EnergyScale {
 public:
  /// @param loss  name, for the message
  /// @throws Error if both terms vanish: the lift is constant and f zero; or for a source with zero
  /// flux on all faces.
  EnergyScale(std::string const& loss, LossProblem const& problem);
  /// @return [n], float64, > 0
  at::Tensor operator()(LossInput const& in) const;

  static constexpr std::int64_t lasting_fields = 1;  ///< see LossPlan
  static void plan(BookedFields const& unit, Source const& source);

 private:
  Grid3 grid_;
  SourceTerm source_;
  double factor_;    // V / (2 lambda)
  at::Tensor lift_;  // float64
};

}  // namespace voxcycle
