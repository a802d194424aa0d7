// SPDX-License-Identifier: BSD-3-Clause
#include "optim/optimizers.hpp"
#include "optim/parameter_lists.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

class Sgd final : public Optimizer {
 public:
  Sgd(OptimizerOptions const& options, std::vector<ParameterGroup> groups)
      : options_(options), groups_(std::move(groups)) {
    for (auto const& group : groups_) {
      auto& velocities = velocities_.emplace_back();
      for (auto const& p : group.parameters) velocities.push_back(at::zeros_like(p));
    }
  }

  using Optimizer::step;
  void step(at::Tensor const& rate) override {
    at::NoGradGuard const no_grad;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      auto const active = active_lists(groups_[g]);
      if (active.parameters.empty()) continue;
      if (active.parameters.front().is_meta()) continue;  // the kernel takes no memory
      std::vector<at::Tensor> velocities;
      if (options_.momentum > 0.0) {  // without, torch takes none
        for (auto place : active.places) {
          velocities.push_back(in_memory_order(velocities_[g][place]));
        }
      }
      at::_fused_sgd_(active.parameters, active.gradients, velocities, /*weight_decay=*/0.0,
                      options_.momentum, rate.mul(groups_[g].rate_factor), /*dampening=*/0.0,
                      /*nesterov=*/false, /*maximize=*/false, /*is_first_step=*/false);
    }
  }

  NamedTensors state() override {
    NamedTensors all;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (std::size_t k = 0; k < groups_[g].names.size(); ++k) {
        all.emplace_back(groups_[g].names[k] + ".velocity", velocities_[g][k]);
      }
    }
    return all;
  }

 private:
  OptimizerOptions options_;
  std::vector<ParameterGroup> groups_;
  std::vector<std::vector<at::Tensor>> velocities_;
};

}  // namespace

std::unique_ptr<Optimizer> make_sgd(OptimizerOptions const& options,
                                    std::vector<ParameterGroup> groups) {
  return std::make_unique<Sgd>(options, std::move(groups));
}

}  // namespace voxcycle
