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
/// iteration X <- Q X, Q = a I + b A + c A^2, A = X X^T. Coefficients: Jordan et al. 2024, "Muon".
/// All Q are polynomials of the first A, so A <- Q A Q and the product of the Q are found from the
/// small matrices alone: two products with the long side instead of ten.
at::Tensor orthogonalised(at::Tensor const& g) {
  constexpr double a = 3.4445;
  constexpr double b = -4.7750;
  constexpr double c = 2.0315;
  bool const tall = g.size(0) > g.size(1);
  at::Tensor x = g / (g.norm() + kTiny);
  if (tall) x = x.t();
  at::Tensor gram = x.mm(x.t());
  at::Tensor product;
  for (int step = 0; step < kNewtonSchulzSteps; ++step) {
    at::Tensor q = gram.mm(gram).mul_(c).add_(gram, b);
    q.diagonal().add_(a);
    product = product.defined() ? q.mm(product) : q;
    if (step + 1 < kNewtonSchulzSteps) gram = q.mm(gram).mm(q);
  }
  x = product.mm(x);
  return tall ? x.t() : x;
}

/// A weight that maps many channels to many; the others (one channel in or out, biases,
/// normalisation) are Adam's.
bool is_matrix(at::Tensor const& p) {
  return p.dim() >= 2 && p.size(0) > 1 && p.size(1) > 1;
}

/// Rows by output channel (dimension 0, outermost in memory); columns in memory order, which
/// changes nothing: a permutation of columns goes through the orthogonal factor unchanged.
at::Tensor matrix(at::Tensor const& dense) {
  return in_memory_order(dense).view({dense.size(0), -1});
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

  std::vector<std::pair<std::string, at::Tensor>> second_moments() const override {
    return adam_->second_moments();
  }

 private:
  /// p -= rate sqrt(max(1, rows / columns)) orthogonalised(gradient + mu momentum).
  void update(at::Tensor const& p, at::Tensor const& momentum, double rate) const {
    at::Tensor const gradient = matrix(gradient_of(p));
    at::Tensor const weight = matrix(p);
    at::Tensor const mean = matrix(momentum).mul_(options_.muon_momentum).add_(gradient);
    at::Tensor const direction = at::add(gradient, mean, options_.muon_momentum);
    double const shape =
        static_cast<double>(direction.size(0)) / static_cast<double>(direction.size(1));
    weight.add_(orthogonalised(direction), -rate * std::sqrt(std::max(1.0, shape)));
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
