// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>

#include "optim/optimizers.hpp"
#include "optim/parameter_lists.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

struct Statistics {
  at::Tensor first;
  at::Tensor second;
  at::Tensor steps;  ///< [1] float32, as torch's kernel wants it
};

class Adam final : public Optimizer {
 public:
  Adam(OptimizerOptions const& options, std::vector<ParameterGroup> groups)
      : options_(options), groups_(std::move(groups)) {
    for (auto const& group : groups_) {
      auto& moments = statistics_.emplace_back();
      for (auto const& p : group.parameters) {
        moments.push_back(
            {at::zeros_like(p), at::zeros_like(p), at::zeros({1}, p.options().dtype(at::kFloat))});
      }
    }
  }

  using Optimizer::step;
  void step(at::Tensor const& rate) override {
    at::NoGradGuard const no_grad;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      auto const active = active_lists(groups_[g]);
      if (active.parameters.empty()) continue;
      std::vector<at::Tensor> first;
      std::vector<at::Tensor> second;
      std::vector<at::Tensor> steps;
      for (auto place : active.places) {
        auto const& moments = statistics_[g][place];
        first.push_back(in_memory_order(moments.first));
        second.push_back(in_memory_order(moments.second));
        steps.push_back(moments.steps);
      }
      if (active.parameters.front().is_meta()) continue;  // the kernel takes no memory
      at::_foreach_add_(steps, 1);
      at::_fused_adam_(active.parameters, active.gradients, first, second, {}, steps,
                       rate.mul(groups_[g].rate_factor), options_.beta1, options_.beta2,
                       /*weight_decay=*/0.0, options_.epsilon, /*amsgrad=*/false,
                       /*maximize=*/false);
    }
  }

  NamedTensors state() override {
    NamedTensors all;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (std::size_t k = 0; k < groups_[g].names.size(); ++k) {
        auto const& name = groups_[g].names[k];
        all.emplace_back(name + ".first_moment", statistics_[g][k].first);
        all.emplace_back(name + ".second_moment", statistics_[g][k].second);
        all.emplace_back(name + ".steps", statistics_[g][k].steps);
      }
    }
    return all;
  }

  NamedTensors second_moments() const override {
    NamedTensors all;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (std::size_t k = 0; k < groups_[g].names.size(); ++k) {
        double const steps = statistics_[g][k].steps.item<double>();
        if (steps == 0) continue;  // never had a gradient
        all.emplace_back(groups_[g].names[k],
                         statistics_[g][k].second / (1.0 - std::pow(options_.beta2, steps)));
      }
    }
    return all;
  }

 private:
  OptimizerOptions options_;
  std::vector<ParameterGroup> groups_;
  std::vector<std::vector<Statistics>> statistics_;
};

}  // namespace

std::unique_ptr<Optimizer> make_adam(OptimizerOptions const& options,
                                     std::vector<ParameterGroup> groups) {
  return std::make_unique<Adam>(options, std::move(groups));
}

}  // namespace voxcycle
