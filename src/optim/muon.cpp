// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <map>

#include "optim/optimizers.hpp"
#include "optim/parameter_lists.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

constexpr int kNewtonSchulzSteps = 5;
constexpr double kTiny = 1e-18;  // against 0 / 0; its square is a normal float32 number

/// The Q that takes each G to its orthogonal factor within some tenths, by five steps of the
/// quintic Newton-Schulz iteration X <- Q X, Q = a I + b A + c A^2, A = X X^T, from X = G / |G|.
/// Coefficients: Jordan et al. 2024, "Muon". All Q are polynomials of the first A, so A <- Q A Q
/// and the product of the Q are found from the small matrices alone: two products with the long
/// side instead of ten.
/// @param gram  [n, small, small], G G^T
/// @return [n, small, small]
at::Tensor orthogonalisers(at::Tensor gram) {
  constexpr double a = 3.4445;
  constexpr double b = -4.7750;
  constexpr double c = 2.0315;
  at::Tensor const norm =
      gram.diagonal(0, 1, 2).sum(1).sqrt_().add_(kTiny).view({-1, 1, 1});  // Frobenius
  gram = gram / norm.square();
  at::Tensor product;
  for (int step = 0; step < kNewtonSchulzSteps; ++step) {
    at::Tensor q = at::baddbmm(gram, gram, gram, b, c);
    q.diagonal(0, 1, 2).add_(a);
    product = product.defined() ? q.bmm(product) : q;
    if (step + 1 < kNewtonSchulzSteps) gram = q.bmm(gram).bmm(q);
  }
  return product / norm;
}

/// A weight that maps many channels to many; the others (one channel in or out, biases,
/// normalisation) are Adam's.
bool is_matrix(at::Tensor const& p) {
  return p.dim() >= 2 && p.size(0) > 1 && p.size(1) > 1;
}

/// Rows by dimension 0, outermost in memory (output channels; of transposed convolutions input
/// channels); columns in memory order, which changes nothing: a permutation of columns goes through
/// the orthogonal factor unchanged.
at::Tensor matrix(at::Tensor const& in_memory_order, std::int64_t rows) {
  return in_memory_order.view({rows, -1});
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

  using Optimizer::step;
  void step(at::Tensor const& rate) override {
    at::NoGradGuard const no_grad;
    // By the shorter side: those of one length go through the iteration together, since for small
    // matrices a GPU takes longer to start a product than to do it.
    std::map<std::int64_t, std::vector<Update>> updates;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      auto const active = active_lists(groups_[g]);
      if (active.parameters.empty()) continue;
      std::vector<at::Tensor> momenta;
      for (auto place : active.places) momenta.push_back(in_memory_order(momenta_[g][place]));
      at::_foreach_mul_(momenta, options_.muon_momentum);
      at::_foreach_add_(momenta, active.gradients);
      auto const directions = at::_foreach_add(active.gradients, momenta, options_.muon_momentum);
      for (std::size_t k = 0; k < momenta.size(); ++k) {
        std::int64_t const rows = groups_[g].parameters[active.places[k]].size(0);
        Update update{matrix(active.parameters[k], rows), matrix(directions[k], rows),
                      rate.mul(groups_[g].rate_factor)};
        updates[std::min(rows, update.weight.size(1))].push_back(std::move(update));
      }
    }
    for (auto const& [side, all] : updates) apply(all);
    adam_->step(rate);
  }

  NamedTensors state() override {
    auto all = adam_->state();
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (std::size_t k = 0; k < groups_[g].names.size(); ++k) {
        all.emplace_back(groups_[g].names[k] + ".momentum", momenta_[g][k]);
      }
    }
    return all;
  }

  NamedTensors second_moments() const override { return adam_->second_moments(); }

 private:
  struct Update {
    at::Tensor weight;
    at::Tensor direction;  ///< gradient + mu momentum
    at::Tensor rate;
    bool tall() const { return weight.size(0) > weight.size(1); }
  };

  /// weight -= rate sqrt(max(1, rows / columns)) orthogonal factor of the direction, for weights
  /// with shorter sides of one length.
  static void apply(std::vector<Update> const& updates) {
    std::vector<at::Tensor> grams;
    for (auto const& u : updates) {
      auto const& d = u.direction;
      grams.push_back(u.tall() ? d.t().mm(d) : d.mm(d.t()));
    }
    at::Tensor const factors = orthogonalisers(at::stack(grams));
    for (std::size_t k = 0; k < updates.size(); ++k) {
      auto const& [weight, d, rate] = updates[k];
      double const shape =
          static_cast<double>(weight.size(0)) / static_cast<double>(weight.size(1));
      double const by = -std::sqrt(std::max(1.0, shape));
      at::Tensor const factor = factors[static_cast<std::int64_t>(k)].mul_(rate);
      updates[k].tall() ? weight.addmm_(d, factor, 1.0, by) : weight.addmm_(factor, d, 1.0, by);
    }
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
