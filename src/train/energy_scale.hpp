// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/train/loss.hpp"

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// The natural size of a sample's energy, by which losses are divided so that every sample counts
/// alike: J_scale(nu) = J(lift), for the default boundary half the mean of nu.
class EnergyScale {
 public:
  /// @param loss  name, for the message
  /// @throws Error if the lift is constant and so has no energy.
  EnergyScale(std::string const& loss, LossProblem const& problem);
  /// @return [n], float64, > 0
  at::Tensor operator()(at::Tensor const& nu) const;

 private:
  LossProblem problem_;
  at::Tensor lift_;
};

}  // namespace voxcycle
