// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/error_estimate.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/random.hpp"
#include "voxcycle/poisson/parallel.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "solver/system.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

constexpr std::uint64_t probe_seed = 20261121;
// Squares of residuals this much smaller than the first are rounding, and so is what steps on them
// tell about the spectrum.
constexpr double rounding = 1e-22;

// Conjugate gradients step by step, with the energy that each takes away and the Lanczos matrix
// that the steps make.
class Descent {
 public:
  Descent(System const& system, Multigrid const& multigrid, at::Tensor r)
      : system_(system), multigrid_(multigrid), r_(std::move(r)) {
    d_ = multigrid_.cycle(r_);
    first_rz_ = rz_ = positive(system_.dot(r_, d_));
  }

  // (r, B r)
  double weighted_residual() const { return rz_; }
  double decrease() const { return decrease_; }

  // Adds the step to `sum` if it is defined. Does nothing once only rounding is left.
  void step(at::Tensor& sum) {
    if (rz_ <= rounding * first_rz_) return;
    at::Tensor q = system_.apply(d_);
    double const dr = system_.dot(d_, r_), dq = positive(system_.dot(d_, q));
    double const length = dr / dq;
    if (sum.defined()) sum.add_(d_, length);
    decrease_ += dr * length;
    r_.sub_(q, length);
    q.reset();
    at::Tensor const z = multigrid_.cycle(r_);
    double const rz = positive(system_.dot(r_, z)), ratio = rz / rz_;
    d_.mul_(ratio).add_(z);
    lengths_.push_back(length);
    ratios_.push_back(ratio);
    rz_ = rz;
  }

  // The least eigenvalue of the Lanczos matrix; 1 (a perfect cycle's) before the first step.
  double min_ritz_value() const {
    auto const steps = static_cast<std::int64_t>(lengths_.size());
    if (steps == 0) return 1.0;
    at::Tensor matrix = at::zeros({steps, steps}, at::kDouble);
    auto entries = matrix.accessor<double, 2>();
    for (std::int64_t i = 0; i < steps; ++i) {
      entries[i][i] = 1.0 / lengths_[i] + (i > 0 ? ratios_[i - 1] / lengths_[i - 1] : 0.0);
      if (i + 1 < steps) {
        entries[i][i + 1] = entries[i + 1][i] = std::sqrt(ratios_[i]) / lengths_[i];
      }
    }
    return at::linalg_eigvalsh(matrix).min().item<double>();
  }

 private:
  static double positive(double value) {
    VOXCYCLE_REQUIRE(value >= 0.0 && std::isfinite(value),
                     "a multigrid cycle gave " << value
                                               << " where a positive number must be (it is not "
                                                  "positive definite on this field). Use float64 "
                                                  "cycles.");
    return value;
  }

  System const& system_;
  Multigrid const& multigrid_;
  at::Tensor r_, d_;
  double first_rz_ = 0.0, rz_ = 0.0, decrease_ = 0.0;
  std::vector<double> lengths_, ratios_;
};

// A residual with a share of every mode: white noise times the root of K's diagonal.
at::Tensor random_residual(System const& system) {
  at::Tensor r = system.diagonal().sqrt_();
  auto const device = r.device();
  r = r.cpu();
  auto* const values = r.mutable_data_ptr<double>();
  std::int64_t const first = system.space().slab().first() * r.stride(2);
  parallel_for(r.numel(), 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      values[i] *= 2.0 * hash_uniform({probe_seed, static_cast<std::uint64_t>(first + i)}) - 1.0;
    }
  });
  r = r.to(device);
  system.project(r);
  return r;
}

// The least eigenvalue of B K that some steps from a random residual see.
double min_ritz_value_seen(System const& system, Multigrid const& multigrid, int steps) {
  Descent probe(system, multigrid, random_residual(system));
  at::Tensor nothing;
  for (int i = 0; i < steps; ++i) probe.step(nothing);
  return probe.min_ritz_value();
}

}  // namespace

ErrorEstimate estimate_error(Problem const& problem, at::Tensor const& nu, at::Tensor const& u,
                             Multigrid const& multigrid, ErrorEstimateOptions const& options,
                             std::optional<at::Tensor> const& b) {
  at::NoGradGuard const no_grad;
  VOXCYCLE_REQUIRE(options.max_cycles > 0 && options.spectrum_cycles > 0 && options.width > 0.0 &&
                       options.safety > 0.0 && options.safety <= 1.0,
                   "an error estimate needs cycles, a positive width and a safety in (0, 1].");
  at::Tensor const voxels = nu.contiguous();
  System const system(problem, voxels, b);
  at::Tensor const field = system.shifted(u);
  system.require_fits("u", field, system.lifted());
  ErrorEstimate result;
  at::Tensor const of_u = system.residual(field);
  double const square = system.dot(of_u, of_u);
  VOXCYCLE_REQUIRE(std::isfinite(square), "u has values that are not finite.");
  // Before the fields of the descent are made: the probe has its own.
  double minimum =
      square > 0.0 ? min_ritz_value_seen(system, multigrid, options.spectrum_cycles) : 1.0;
  result.correction = at::zeros_like(u, at::MemoryFormat::Contiguous);
  if (square > 0.0) {
    Descent descent(system, multigrid, system.residual(field));
    for (int cycles = 1;; ++cycles) {
      minimum = std::min(minimum, descent.min_ritz_value());
      double const left = descent.weighted_residual();
      result.lower = std::sqrt(descent.decrease());
      result.estimate = std::sqrt(descent.decrease() + left);
      result.upper = std::sqrt(descent.decrease() + left / (options.safety * minimum));
      result.cycles = cycles + options.spectrum_cycles + 1;
      if (result.upper <= (1.0 + options.width) * result.lower || cycles == options.max_cycles) {
        break;
      }
      descent.step(result.correction);
    }
  }
  at::Tensor const better = field + result.correction;
  result.norm = std::sqrt(2.0 * system.energy(better));
  for (double* const norm : {&result.lower, &result.estimate, &result.upper, &result.norm}) {
    *norm *= system.unit();
  }
  result.correction.mul_(system.unit());
  return result;
}

}  // namespace voxcycle
