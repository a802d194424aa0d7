// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/optim/optimizer.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// All parameters of some groups as one vector of n variables, float64, each parameter in its
/// memory order.
class FlatParameters {
 public:
  explicit FlatParameters(std::vector<ParameterGroup> groups);

  std::int64_t size() const { return size_; }
  at::Tensor values() const;  ///< [n], a copy
  /// Sets the parameters; `values` [n] are rounded in place to what they can hold.
  void set_values(at::Tensor const& values) const;
  /// [n]; 0 for parameters without a gradient.
  at::Tensor gradient() const;
  /// [n]: the groups' rate factors.
  at::Tensor rate_factors() const;
  /// Tensors named after the parameters, of their shapes, as [n]; undefined if one is missing.
  at::Tensor flatten(NamedTensors const& named) const;

 private:
  std::vector<ParameterGroup> groups_;
  std::int64_t size_ = 0;
};

}  // namespace voxcycle
