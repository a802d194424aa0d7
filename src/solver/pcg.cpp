// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/pcg.hpp"

#include "voxcycle/core/sole_holder.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "solver/system.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

/// Relative residuals are rounding below.
constexpr double min_target = 1e-15;

/// The values of `field`: itself if nobody else holds it.
at::Tensor field_of_its_own(at::Tensor field) {
  bool const usable = is_sole_holder(field) && field.is_contiguous();
  return usable ? field : field.clone(at::MemoryFormat::Contiguous);
}

}  // namespace

SolveResult solve_pcg(Problem const& problem, at::Tensor const& nu,
                      Preconditioner const& precondition, SolveOptions const& options,
                      std::optional<at::Tensor> const& b, std::optional<at::Tensor> start) {
  at::NoGradGuard const no_grad;
  System const system(problem, nu.contiguous(), b);
  SolveResult result{.u = system.lifted(), .converged = true};
  at::Tensor r = system.residual(result.u);
  double const scale = std::sqrt(system.dot(r, r));
  bool const wants_bound = std::isfinite(options.energy_error);
  std::optional<System::ErrorBound> bound;  // of the u at hand
  auto finish = [&](double residual_norm) {
    if (wants_bound && !system.has_datum()) {
      if (!bound || system.needs_tree()) bound = system.error_bound(r, result.u);
      result.error_bound = bound->at(residual_norm);
    }
    system.unshift(result.u);
    if (wants_bound && system.has_datum()) {  // which rounds u
      at::Tensor const rounded = system.shifted(result.u);
      r = system.residual(rounded);
      double const norm = std::sqrt(system.dot(r, r));
      result.error_bound = system.error_bound(r, rounded).at(norm);
    }
  };
  // Where the lift solves the system, nothing is left to do; not so where voxels are so long that
  // one axis' flow is no more than the rounding of another's.
  if (system.is_rounding(scale, result.u) &&
      (!wants_bound || system.error_bound(r, result.u).at(scale) <= options.energy_error)) {
    finish(scale);
    return result;
  }
  if (start) {
    at::Tensor from = system.shifted(std::exchange(start, std::nullopt).value());
    system.require_fits("start", from, result.u);
    r.reset();
    result.u = field_of_its_own(std::move(from));
    r = system.residual(result.u);
  }
  auto relative_norm = [&] { return std::sqrt(system.dot(r, r)) / scale; };
  // Where a residual at the tolerance leaves too much to chance, a lower one is asked for. What
  // comes after may have larger ones, but smaller errors: the steps minimise these.
  bool met = false;
  double target = options.tolerance;
  auto reached = [&](double now) {
    if (now > target) return false;
    if (!wants_bound) return true;
    if (!bound) bound = system.error_bound(r, result.u);
    if (bound->at(now * scale) <= options.energy_error) return true;
    if (!met) {
      at::Tensor const exact = system.residual(result.u);
      met = std::sqrt(system.dot(exact, exact)) <= options.tolerance * scale;
    }
    target = std::max(min_target, bound->residual_at(options.energy_error) / scale);
    bound.reset();  // u may change by much until then
    return now <= target;
  };
  result.relative_residual = relative_norm();
  bool done = reached(result.relative_residual);

  // Outer rounds: the recurrence's residual drifts from the true one, so convergence is judged on
  // the true one, and the search starts anew from there if it is not there yet.
  while (!done && result.iterations < options.max_iterations) {
    double const at_round_start = result.relative_residual;
    bound.reset();
    at::Tensor p = precondition(r).clone();
    double rz = system.dot(r, p);
    bool broken = !(rz > 0.0 && std::isfinite(rz));
    while (!broken && result.iterations < options.max_iterations) {
      at::Tensor q = system.apply(p);
      double const step = rz / system.dot(p, q);
      if (!(step > 0.0 && std::isfinite(step))) {
        broken = true;
        break;
      }
      result.u.add_(p, step);
      r.sub_(q, step);
      ++result.iterations;
      q.reset();  // the cycle needs room
      double const now = relative_norm();
      if (!std::isfinite(now) || reached(now)) break;
      at::Tensor const z = precondition(r);
      double const rz_new = system.dot(r, z);
      broken = !(rz_new > 0.0 && std::isfinite(rz_new));
      p.mul_(rz_new / rz).add_(z);
      rz = rz_new;
    }
    r = system.residual(result.u);
    result.relative_residual = relative_norm();
    done = reached(result.relative_residual);
    if (broken || !(result.relative_residual < at_round_start)) {
      break;  // indefinite, not finite, or at the limit of rounding
    }
  }
  double const norm = result.relative_residual * scale;
  met = met || result.relative_residual <= options.tolerance;
  // Nearer there is nothing, however near the lift was, which the tolerance is relative to.
  result.converged = met || system.is_rounding(norm, result.u);
  if (system.floating()) {
    system.centre(result.u);
  }
  finish(norm);
  return result;
}

}  // namespace voxcycle
