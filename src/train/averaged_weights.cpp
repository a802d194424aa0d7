// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/averaged_weights.hpp"

#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {

std::vector<at::Tensor> all_values(Network const& network) {
  auto values = network.parameters();
  auto const buffers = network.buffers();
  values.insert(values.end(), buffers.begin(), buffers.end());
  return values;
}

AveragedWeights::AveragedWeights(Network const& network, std::shared_ptr<Network> average)
    : average_(std::move(average)), from_(all_values(network)), to_(all_values(*average_)) {
  at::NoGradGuard const no_grad;
  for (std::size_t k = 0; k < from_.size(); ++k) to_[k].copy_(from_[k]);
}

void AveragedWeights::set_horizon(double steps) {
  horizon_ = std::max(1.0, steps);
}

void AveragedWeights::update() {
  at::NoGradGuard const no_grad;
  ++updates_;
  double const weight = std::max(1.0 / horizon_, 1.0 / static_cast<double>(updates_));
  at::_foreach_lerp_(to_, from_, weight);
}

}  // namespace voxcycle
