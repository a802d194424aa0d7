// SPDX-License-Identifier: BSD-3-Clause
#include "coarsest_polynomial.hpp"

#include "voxcycle/poisson/sample_sums.hpp"

#include <algorithm>

#include <ATen/ATen.h>

namespace voxcycle {
namespace {

constexpr int first_steps = 15;
constexpr int most_raises = 8;  // each by a fiftieth or more
constexpr double margin = 1.02;

int longest_axis(Grid3 const& grid) {
  return static_cast<int>(*std::max_element(grid.voxels.begin(), grid.voxels.end()));
}

}  // namespace

CoarsestPolynomial::CoarsestPolynomial(LevelOperator const& op, at::Tensor const& inverse)
    : op_(op),
      inverse_(inverse),
      range_(2.0 * longest_axis(op.grid()) * longest_axis(op.grid())),
      steps_(2 * longest_axis(op.grid()) + 1),
      top_(op.top()) {
  if (!op.top_is_bound()) raise_top();
}

at::Tensor CoarsestPolynomial::solve(at::Tensor const& b) const {
  return chebyshev(op_, inverse_, {}, b, steps_, interval(top_));
}

Interval CoarsestPolynomial::interval(double top) const {
  return {top / range_, top};
}

// So many steps blow up, without limit, what lies above the interval. But that tells where it lies:
// the residual that they leave of a random one consists of it, and so has its eigenvalue as
// Rayleigh's quotient. Few steps first, whose residuals do not overflow.
void CoarsestPolynomial::raise_top() {
  at::Tensor const b = noise_like(inverse_);
  at::Tensor const before = sample_dots(b, inverse_.mul(b));
  for (int steps = std::min(first_steps, steps_);; steps = std::min(2 * steps + 1, steps_)) {
    for (int raise = 0; raise < most_raises; ++raise) {
      at::Tensor const x = chebyshev(op_, inverse_, {}, b, steps, interval(top_));
      at::Tensor const r = op_.apply(x).neg_().add_(b);
      at::Tensor const z = inverse_.mul(r);
      at::Tensor const after = sample_dots(z, r);
      if (after.le(before).all().item<bool>()) break;
      double const found = (sample_dots(z, op_.apply(z)) / after).max().item<double>();
      top_ = margin * std::max(top_, found);
    }
    if (steps == steps_) return;
  }
}

}  // namespace voxcycle
