// SPDX-License-Identifier: BSD-3-Clause
// Functions with known minima, as objectives.
#pragma once

#include "voxcycle/optim/objective.hpp"

#include <cmath>
#include <cstdint>
#include <functional>

#include <ATen/ATen.h>

namespace voxcycle {

/// Value and gradient by given functions of x, [n] float64; counts evaluations.
class FunctionObjective final : public Objective {
 public:
  using Function = std::function<ObjectiveValue(at::Tensor const&)>;
  FunctionObjective(at::Tensor start, Function function)
      : x_(std::move(start)), function_(std::move(function)) {}

  std::int64_t size() const override { return x_.numel(); }
  at::Tensor point() const override { return x_.clone(); }
  ObjectiveValue evaluate(at::Tensor const& x) override {
    ++evaluations;
    x_ = x.clone();
    return function_(x);
  }

  std::int64_t evaluations = 0;

 private:
  at::Tensor x_;
  Function function_;
};

/// sum of 100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2, which scipy calls rosen; 0 at x = 1.
inline ObjectiveValue rosenbrock(at::Tensor const& x) {
  std::int64_t const n = x.numel();
  auto const* v = x.const_data_ptr<double>();
  ObjectiveValue result{0.0, at::zeros({n}, at::kDouble)};
  auto* g = result.gradient.mutable_data_ptr<double>();
  for (std::int64_t i = 0; i + 1 < n; ++i) {
    double const a = v[i + 1] - v[i] * v[i];
    double const b = 1 - v[i];
    result.value += 100 * a * a + b * b;
    g[i] += -400 * a * v[i] - 2 * b;
    g[i + 1] += 200 * a;
  }
  return result;
}

/// -1.2, 1, -1.2, 1, ... or a ramp from 0.5 to 1.5.
enum class Start { alternating, ramp };
inline at::Tensor rosenbrock_start(std::int64_t n, Start start) {
  at::Tensor x = at::empty({n}, at::kDouble);
  for (std::int64_t i = 0; i < n; ++i) {
    double const ramp = 0.5 + static_cast<double>(i) / static_cast<double>(n);
    x[i] = start == Start::ramp ? ramp : (i % 2 == 0 ? -1.2 : 1.0);
  }
  return x;
}

/// x^T A x / 2 - b^T x for a symmetric A.
inline FunctionObjective::Function quadratic(at::Tensor const& a, at::Tensor const& b) {
  return [a, b](at::Tensor const& x) {
    at::Tensor const ax = a.mv(x);
    return ObjectiveValue{0.5 * x.dot(ax).item<double>() - b.dot(x).item<double>(), ax - b};
  };
}

}  // namespace voxcycle
