// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>

#include "optim/optimizers.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

constexpr int kNewtonSchulzSteps = 5;
constexpr double kTiny = 1e-7;

/// The orthogonal factor of `g` to within some tenths, by five steps of the quintic Newton-Schulz
/// iteration X <- a X + (b A + c A^2) X, A = X X^T. Coefficients: Jordan et al. 2024, "Muon".
at::Tensor orthogonalised(at::Tensor const& g) {
  constexpr double a = 3.4445;
  constexpr double b = -4.7750;
  constexpr double c = 2.0315;
  bool const tall = g.size(0) > g.size(1);
  at::Tensor x = g / (g.norm() + kTiny);
  if (tall) x = x.t();
  for (int step = 0; step < kNewtonSchulzSteps; ++step) {
    at::Tensor const gram = x.mm(x.t());
    x = a * x + (b * gram + c * gram.mm(gram)).mm(x);
  }
  return tall ? x.t() : x;
}

/// A weight that maps many channels to many; the others (one channel in or out, biases,
/// normalisation) are Adam's.
bool is_matrix(at::Tensor const& p) {
  return p.dim() >= 2 && p.size(0) > 1 && p.size(1) > 1;
}

class Muon final : public Optimizer {
 public:
  Muon(OptimizerOptions const& options, std::vector<ParameterGroup> const& groups)
      : options_(options) {
    std::vector<ParameterGroup> rest;
    for (auto const& group : groups) {
      ParameterGroup matrices{{}, {}, group.rate_factor};
      ParameterGroup others{{}, {}, group.rate_factor * options.adam_ratio};
      for (std::size_t k = 0; k < group.parameters.size(); ++k) {
        auto& target = is_matrix(group.parameters[k]) ? matrices : others;
        target.parameters.push_back(group.parameters[k]);
        target.names.push_back(group.names[k]);
      }
      auto& momenta = momenta_.emplace_back();
      for (auto const& p : matrices.parameters) momenta.push_back(at::zeros_like(p));
      groups_.push_back(std::move(matrices));
      rest.push_back(std::move(others));
    }
    adam_ = make_adam(options, std::move(rest));
  }

  void step(double rate) override {
    at::NoGradGuard const no_grad;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (std::size_t k = 0; k < groups_[g].parameters.size(); ++k) {
        auto const& p = groups_[g].parameters[k];
        if (p.grad().defined()) update(p, momenta_[g][k], rate * groups_[g].rate_factor);
      }
    }
    adam_->step(rate);
  }

  std::vector<std::pair<std::string, at::Tensor>> state() override {
    auto all = adam_->state();
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (std::size_t k = 0; k < groups_[g].names.size(); ++k) {
        all.emplace_back(groups_[g].names[k] + ".momentum", momenta_[g][k]);
      }
    }
    return all;
  }

 private:
  /// p -= rate sqrt(max(1, rows / columns)) orthogonalised(gradient + mu momentum).
  void update(at::Tensor const& p, at::Tensor& momentum, double rate) const {
    momentum.mul_(options_.muon_momentum).add_(p.grad());
    at::Tensor const direction =
        (p.grad() + options_.muon_momentum * momentum).reshape({p.size(0), -1});
    double const shape =
        static_cast<double>(direction.size(0)) / static_cast<double>(direction.size(1));
    p.add_(orthogonalised(direction).reshape(p.sizes()), -rate * std::sqrt(std::max(1.0, shape)));
  }

  OptimizerOptions options_;
  std::vector<ParameterGroup> groups_;
  std::vector<std::vector<at::Tensor>> momenta_;
  std::unique_ptr<Optimizer> adam_;
};

}  // namespace

std::unique_ptr<Optimizer> make_muon(OptimizerOptions const& options,
                                     std::vector<ParameterGroup> groups) {
  return std::make_unique<Muon>(options, groups);
}

}  // namespace voxcycle
