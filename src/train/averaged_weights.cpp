// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/averaged_weights.hpp"

#include "voxcycle/core/rehearsal.hpp"

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

double AveragedWeights::next_weight() {
  ++updates_;
  return std::max(1.0 / horizon_, 1.0 / static_cast<double>(updates_));
}

void AveragedWeights::update(at::Tensor const& weight) {
  at::NoGradGuard const no_grad;
  if (!is_on_gpu(weight)) {  // one operator a tensor
    return at::_foreach_lerp_(to_, from_, weight.is_meta() ? 1.0 : weight.item<double>());
  }
  auto changes = at::_foreach_sub(from_, to_);
  at::_foreach_mul_(changes, weight.to(to_.front().scalar_type()));
  at::_foreach_add_(to_, changes);
}

}  // namespace voxcycle
