// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/optim/optimizer.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/optim.h>

namespace voxcycle {
namespace optimizer_test {

constexpr double kRounding = 1e-6;  // float32, twenty steps

std::vector<at::Tensor> start_values() {
  at::manual_seed(2);
  return {at::randn({7, 3}), at::randn({5})};
}

/// Gradient of a smooth function, the same for both implementations.
at::Tensor gradient_at(at::Tensor const& x) {
  return x.detach().pow(3) - 0.5 * x.detach();
}

/// Runs `ours` and torch's own optimiser side by side.
template <class Theirs>
void compare(OptimizerOptions const& options, Theirs make_theirs) {
  auto ours = start_values();
  auto theirs = start_values();
  auto const mine = make_optimizer(options, {{{ours[0]}, {"a"}, 1.0}, {{ours[1]}, {"b"}, 0.1}});
  auto reference = make_theirs(theirs);
  for (int step = 0; step < 20; ++step) {
    for (std::size_t k = 0; k < ours.size(); ++k) {
      ours[k].mutable_grad() = gradient_at(ours[k]);
      theirs[k].mutable_grad() = gradient_at(theirs[k]);
    }
    mine->step(0.01);
    reference->step();
  }
  for (std::size_t k = 0; k < ours.size(); ++k) {
    EXPECT_TRUE(at::allclose(ours[k], theirs[k], kRounding, kRounding)) << k;
  }
}

template <class Optim, class Options>
std::unique_ptr<Optim> two_groups(std::vector<at::Tensor> const& p, Options fast, Options slow) {
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<at::Tensor>{p[0]}, std::make_unique<Options>(fast));
  groups.emplace_back(std::vector<at::Tensor>{p[1]}, std::make_unique<Options>(slow));
  return std::make_unique<Optim>(groups, fast);
}

TEST(Optimizer, AdamWithRatesAGroupEqualsTorch) {
  compare({.name = "adam", .epsilon = 1e-8}, [](auto const& p) {
    return two_groups<torch::optim::Adam>(p, torch::optim::AdamOptions(0.01),
                                          torch::optim::AdamOptions(0.001));
  });
}

TEST(Optimizer, StepsOfAdamAndMuonDoNotDependOnTheUnitOfGradients) {
  at::manual_seed(8);
  for (char const* name : {"adam", "muon"}) {
    at::Tensor const g = at::randn({6, 5});
    at::Tensor const of_one = at::zeros_like(g);
    at::Tensor const of_small = at::zeros_like(g);
    auto const large = make_optimizer({.name = name}, {{{of_one}, {"w"}, 1.0}});
    auto const small = make_optimizer({.name = name}, {{{of_small}, {"w"}, 1.0}});
    for (int step = 0; step < 3; ++step) {
      of_one.mutable_grad() = g;
      of_small.mutable_grad() = g * 1e-9;
      large->step(0.1);
      small->step(0.1);
    }
    EXPECT_LT((of_one - of_small).norm().item<double>(), 0.01 * of_one.norm().item<double>())
        << name;
  }
}

TEST(Optimizer, StateIsWhatCheckpointsExpect) {
  // Times the memory of weights; of muon for matrices.
  std::map<std::string, double> const copies_of{{"adam", 2.0}, {"muon", 1.0}, {"sgd", 1.0}};
  for (auto const& name : optimizer_names()) {
    at::Tensor const weights = at::ones({64, 8, 3, 3, 3});
    weights.mutable_grad() = at::ones_like(weights);
    auto const optimizer = make_optimizer({.name = name}, {{{weights}, {"w"}, 1.0}});
    optimizer->step(0.1);
    std::size_t bytes = 0;
    for (auto const& [path, values] : optimizer->state()) {
      EXPECT_TRUE(values.scalar_type() == at::kFloat || values.scalar_type() == at::kDouble)
          << path;
      bytes += values.nbytes();
    }
    double const copies = static_cast<double>(bytes) / static_cast<double>(weights.nbytes());
    EXPECT_NEAR(copies, copies_of.at(name), 0.05) << name;
  }
}

TEST(Optimizer, GradientsOfZeroMoveNothing) {
  for (auto const& name : optimizer_names()) {
    at::Tensor const w = at::ones({3, 4});
    w.mutable_grad() = at::zeros_like(w);
    make_optimizer({.name = name}, {{{w}, {"w"}, 1.0}})->step(0.1);
    EXPECT_TRUE(at::equal(w, at::ones_like(w))) << name;
  }
}

TEST(Optimizer, SgdWithMomentumEqualsTorch) {
  compare({.name = "sgd"}, [](auto const& p) {
    return two_groups<torch::optim::SGD>(p, torch::optim::SGDOptions(0.01).momentum(0.9),
                                         torch::optim::SGDOptions(0.001).momentum(0.9));
  });
}

TEST(Optimizer, SgdWithoutMomentumEqualsTorch) {
  compare({.name = "sgd", .momentum = 0.0}, [](auto const& p) {
    return two_groups<torch::optim::SGD>(p, torch::optim::SGDOptions(0.01),
                                         torch::optim::SGDOptions(0.001));
  });
}

TEST(Optimizer, MuonMovesMatricesAlongTheirOrthogonalFactor) {
  at::manual_seed(4);
  for (std::vector<std::int64_t> const& shape :
       {std::vector<std::int64_t>{6, 2, 3, 1, 1}, {9, 4}}) {
    at::Tensor const p = at::zeros(shape);
    at::Tensor const g = at::randn(shape);
    p.mutable_grad() = g;
    make_optimizer({.name = "muon"}, {{{p}, {"w"}, 0.5}})->step(0.2);
    double const rows = static_cast<double>(shape[0]);
    double const columns = static_cast<double>(g.numel()) / rows;
    at::Tensor const moved =
        p.reshape({shape[0], -1}) / (-0.1 * std::sqrt(std::max(1.0, rows / columns)));
    // In the singular vectors of the gradient the step is diagonal, with entries near 1: five
    // Newton-Schulz steps with these coefficients bring singular values into [0.7, 1.2].
    auto const [u, s, v] = at::linalg_svd(g.reshape({shape[0], -1}), /*full_matrices=*/false);
    at::Tensor const inner = u.t().mm(moved).mm(v.t());
    at::Tensor const diagonal = inner.diagonal();
    EXPECT_GT(diagonal.min().item<double>(), 0.6);
    EXPECT_LT(diagonal.max().item<double>(), 1.3);
    EXPECT_LT((inner - at::diag(diagonal)).abs().max().item<double>(), 1e-4);
  }
}

TEST(Optimizer, MuonMapsSingularValuesByTheQuintic) {
  // The iteration acts on each singular value alone: s <- a s + b s^3 + c s^5, five times.
  constexpr double kSquares = 1e-9;  // float64 rounding of the squares, growing 12-fold a step
  at::manual_seed(6);
  for (std::vector<std::int64_t> const& shape :
       {std::vector<std::int64_t>{8, 3, 3, 3, 3}, {12, 5}}) {
    std::int64_t const small = std::min(shape[0], shape.size() == 2 ? shape[1] : 81);
    at::Tensor const m = at::randn(shape, at::kDouble).reshape({shape[0], -1});
    auto const [u, unused, v] = at::linalg_svd(m, /*full_matrices=*/false);
    at::Tensor const s = at::logspace(0, -3, small, 10.0, at::kDouble);  // condition 1e3
    at::Tensor const g = u.mm(at::diag(s)).mm(v);
    at::Tensor const p = at::zeros(shape, at::kDouble);
    p.mutable_grad() = g.reshape(shape);
    make_optimizer({.name = "muon"}, {{{p}, {"w"}, 1.0}})->step(1.0);
    at::Tensor want = s / s.norm();
    for (int k = 0; k < 5; ++k) {
      want = 3.4445 * want - 4.7750 * want.pow(3) + 2.0315 * want.pow(5);
    }
    double const rows = static_cast<double>(m.size(0));
    double const columns = static_cast<double>(m.size(1));
    at::Tensor const moved = p.reshape({shape[0], -1}) / -std::sqrt(std::max(1.0, rows / columns));
    EXPECT_TRUE(at::allclose(u.t().mm(moved).mm(v.t()), at::diag(want), kSquares, kSquares));
  }
}

TEST(Optimizer, MuonMovesEachMatrixAsIfItWereAlone) {
  at::manual_seed(9);
  std::vector<at::Tensor> together, alone;
  for (std::vector<std::int64_t> const& shape : std::vector<std::vector<std::int64_t>>{
           {6, 2, 3, 1, 1}, {9, 4}, {4, 9}, {4, 2, 3, 3, 3}, {5, 4}, {4, 4}}) {
    at::Tensor const p = at::randn(shape, at::kDouble);
    // Of sizes from a billionth to a million: a norm is a weight's own.
    p.mutable_grad() =
        at::randn(shape, at::kDouble) * std::pow(10.0, 3.0 * double(together.size()) - 9.0);
    together.push_back(p);
    alone.push_back(p.clone());
    alone.back().mutable_grad() = p.grad();
  }
  std::vector<ParameterGroup> groups{{{}, {}, 1.0}, {{}, {}, 0.3}};
  for (std::size_t k = 0; k < together.size(); ++k) {
    groups[k % 2].parameters.push_back(together[k]);
    groups[k % 2].names.push_back(std::to_string(k));
    double const factor = groups[k % 2].rate_factor;
    make_optimizer({.name = "muon"}, {{{alone[k]}, {"w"}, factor}})->step(0.2);
  }
  make_optimizer({.name = "muon"}, groups)->step(0.2);
  for (std::size_t k = 0; k < together.size(); ++k) {
    EXPECT_TRUE(at::allclose(together[k], alone[k], 1e-12, 1e-12)) << together[k].sizes();
  }
}

TEST(Optimizer, MuonLeavesVectorsAndSingleChannelsToAdam) {
  at::Tensor const bias = at::zeros({4});
  at::Tensor const head = at::zeros({1, 4, 2, 2, 2});
  bias.mutable_grad() = at::ones({4});
  head.mutable_grad() = -at::ones({1, 4, 2, 2, 2});
  make_optimizer({.name = "muon", .adam_ratio = 0.1}, {{{bias, head}, {"b", "h"}, 1.0}})->step(0.5);
  // Adam's first step has the size of its rate.
  EXPECT_TRUE(at::allclose(bias, at::full({4}, -0.05)));
  EXPECT_TRUE(at::allclose(head, at::full({1, 4, 2, 2, 2}, 0.05)));
}

TEST(Optimizer, MemoryLayoutDoesNotMatter) {
  at::manual_seed(8);
  at::Tensor const start = at::randn({4, 3, 2, 3, 3});
  for (auto const& name : optimizer_names()) {
    for (auto layout : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast3d}) {
      at::Tensor const p = start.clone();
      at::Tensor const q = start.clone(at::MemoryFormat::ChannelsLast3d);
      auto const plain = make_optimizer({.name = name}, {{{p}, {"w"}, 1.0}});
      auto const other = make_optimizer({.name = name}, {{{q}, {"w"}, 1.0}});
      for (int step = 0; step < 5; ++step) {
        p.mutable_grad() = gradient_at(p);
        q.mutable_grad() = gradient_at(q).contiguous(layout);
        plain->step(0.01);
        other->step(0.01);
      }
      EXPECT_TRUE(at::allclose(q, p, kRounding, kRounding)) << name << ' ' << layout;
    }
  }
}

TEST(Optimizer, RestoredStateGoesOnWithTheSameBits) {
  for (auto const& name : optimizer_names()) {
    auto x = start_values();
    auto const first = make_optimizer({.name = name}, {{x, {"a", "b"}, 1.0}});
    auto const run = [](Optimizer& optimizer, std::vector<at::Tensor> const& p, int steps) {
      for (int step = 0; step < steps; ++step) {
        for (auto const& t : p) t.mutable_grad() = gradient_at(t);
        optimizer.step(0.01);
      }
    };
    run(*first, x, 5);
    std::vector<at::Tensor> y{x[0].detach().clone(), x[1].detach().clone()};
    auto const second = make_optimizer({.name = name}, {{y, {"a", "b"}, 1.0}});
    auto const from = first->state();
    auto const to = second->state();
    ASSERT_EQ(from.size(), to.size());
    for (std::size_t k = 0; k < from.size(); ++k) {
      EXPECT_EQ(from[k].first, to[k].first);
      to[k].second.copy_(from[k].second);
    }
    run(*first, x, 5);
    run(*second, y, 5);
    EXPECT_TRUE(at::equal(x[0], y[0])) << name;
    EXPECT_TRUE(at::equal(x[1], y[1])) << name;
  }
}

TEST(Optimizer, LeavesParametersWithoutGradientAlone) {
  auto x = start_values();
  auto const before = x[1].clone();
  auto const optimizer = make_optimizer({.name = "adam"}, {{x, {"a", "b"}, 1.0}});
  x[0].mutable_grad() = at::ones_like(x[0]);
  optimizer->step(0.1);
  EXPECT_TRUE(at::equal(x[1], before));
}

TEST(Optimizer, AdamTellsTheMeanSquareOfItsGradients) {
  // Of a constant gradient the bias-corrected mean is its square, whatever the number of steps.
  auto x = start_values();
  auto const optimizer = make_optimizer({.name = "adam"}, {{x, {"a", "b"}, 1.0}});
  EXPECT_TRUE(optimizer->second_moments().empty());
  x[0].mutable_grad() = 3 * at::ones_like(x[0]);
  for (int step = 0; step < 7; ++step) optimizer->step(0.1);
  auto const moments = optimizer->second_moments();
  ASSERT_EQ(moments.size(), 1U) << "b never had a gradient";
  EXPECT_EQ(moments[0].first, "a");
  EXPECT_TRUE(at::allclose(moments[0].second, at::full({7, 3}, 9.0), 1e-5, 0.0));
}

TEST(Optimizer, MuonTellsMeanSquaresOfAdamsPartAlone) {
  auto x = start_values();
  auto const optimizer = make_optimizer({.name = "muon"}, {{x, {"matrix", "bias"}, 1.0}});
  for (auto& p : x) p.mutable_grad() = at::ones_like(p);
  optimizer->step(0.1);
  auto const moments = optimizer->second_moments();
  ASSERT_EQ(moments.size(), 1U);
  EXPECT_EQ(moments[0].first, "bias");
}

TEST(Optimizer, RefusesUnknownNames) {
  EXPECT_THROW(make_optimizer({.name = "adm"}, {}), Error);
}

}  // namespace optimizer_test
}  // namespace voxcycle
