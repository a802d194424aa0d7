// SPDX-License-Identifier: BSD-3-Clause
#include "poisson/multigrid/coarsest_polynomial.hpp"

#include "voxcycle/poisson/sample_sums.hpp"

#include <algorithm>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

constexpr int first_steps = 15;
constexpr int max_raises = 8;  // each by a fiftieth or more
constexpr double margin = 1.02;

}  // namespace

CoarsestPolynomial::CoarsestPolynomial(LevelOperator const& op, at::Tensor const& weights)
    : op_(op),
      weights_(weights),
      interval_{0.5 / static_cast<double>(op.grid().level() * op.grid().level()), 1.0},
      steps_(2 * static_cast<int>(op.grid().level()) + 1) {
  if (!op.top_is_bound()) raise_top();
}

at::Tensor CoarsestPolynomial::solve(at::Tensor const& b) const {
  return chebyshev(op_, weights_, {}, b, chebyshev_steps(steps_, interval_));
}

// So many steps blow up, without limit, what lies above the interval. But that tells where it lies:
// the residual that they leave of a random one consists of it, and so has its eigenvalue as
// Rayleigh's quotient. Few steps first, whose residuals do not overflow. Each sample has its own.
void CoarsestPolynomial::raise_top() {
  at::Tensor const b = noise_like(weights_);
  for (int steps = std::min(first_steps, steps_);; steps = std::min(2 * steps + 1, steps_)) {
    for (int raise = 0; raise < max_raises; ++raise) {
      at::Tensor const x = chebyshev(op_, weights_, {}, b, chebyshev_steps(steps, interval_));
      at::Tensor const r = op_.apply(x).neg_().add_(b);
      at::Tensor const z = weights_.mul(r);
      at::Tensor const after = sample_dots(z, r);
      at::Tensor const beyond = after.gt(sample_dots(b, weights_.mul(b)));
      if (beyond.is_meta() || !beyond.any().item<bool>()) break;
      at::Tensor const found = sample_dots(z, op_.apply(z)) / after;
      at::Tensor const raised = at::where(beyond, found.clamp_min(1.0) * margin, 1.0);
      weights_ = weights_ / as_factor(raised, weights_.scalar_type());
    }
    if (steps == steps_) return;
  }
}

}  // namespace voxcycle
