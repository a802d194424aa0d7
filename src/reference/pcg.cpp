// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/reference/pcg.hpp"

#include "voxcycle/poisson/energy.hpp"

#include <cmath>
#include <limits>

#include "field_sums.hpp"
#include "reference/system.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

// Whether a residual of this norm is what rounding leaves of K u: a row of K has 27 entries, whose
// magnitudes sum to about twice the diagonal. The diagonal is only made if its bound, eight voxels
// of the largest nu, leaves the question open: fields are dear.
bool is_rounding(double residual, Problem const& problem, at::Tensor const& nu,
                 at::Tensor const& u) {
  constexpr double share = 16.0 * std::numeric_limits<double>::epsilon();
  Grid3 const& grid = problem.grid;
  Grid3 const voxel{{1, 1, 1}, {grid.spacing(0), grid.spacing(1), grid.spacing(2)}};
  at::Tensor const largest = nu.max().view({1, 1, 1, 1, 1});
  double const corner = stiffness_diagonal(largest, voxel).max().item<double>();
  if (residual > share * 8.0 * corner * std::sqrt(field_dot(u, u))) return false;
  at::Tensor const terms = stiffness_diagonal(nu.contiguous(), grid).mul_(u);
  return residual <= share * std::sqrt(field_dot(terms, terms));
}

}  // namespace

SolveResult solve_pcg(Problem const& problem, at::Tensor const& nu,
                      Preconditioner const& precondition, SolveOptions const& options,
                      std::optional<at::Tensor> const& b, std::optional<at::Tensor> const& start) {
  at::NoGradGuard const no_grad;
  System const system(problem, nu.contiguous(), b);
  SolveResult result{system.lifted(), 0, 0.0, true};
  at::Tensor r = system.residual(result.u);
  double const scale = std::sqrt(field_dot(r, r));
  if (is_rounding(scale, problem, nu, result.u)) {
    return result;  // the lift solves the system
  }
  if (start) {
    system.require_fits("start", *start, result.u);
    result.u = start->clone(at::MemoryFormat::Contiguous);
    r = system.residual(result.u);
  }
  auto relative_norm = [&] { return std::sqrt(field_dot(r, r)) / scale; };
  result.relative_residual = relative_norm();
  result.converged = result.relative_residual <= options.tolerance;

  // Outer rounds: the recurrence's residual drifts from the true one, so convergence is judged on
  // the true one, and the search starts anew from there if it is not there yet.
  while (!result.converged && result.iterations < options.max_iterations) {
    double const at_round_start = result.relative_residual;
    at::Tensor p = precondition(r).clone();
    double rz = field_dot(r, p);
    bool broken = !(rz > 0.0 && std::isfinite(rz));
    while (!broken && result.iterations < options.max_iterations) {
      at::Tensor q = system.apply(p);
      double const step = rz / field_dot(p, q);
      if (!(step > 0.0 && std::isfinite(step))) {
        broken = true;
        break;
      }
      result.u.add_(p, step);
      r.sub_(q, step);
      ++result.iterations;
      if (!(relative_norm() > options.tolerance)) {
        break;
      }
      q.reset();  // the cycle needs room
      at::Tensor const z = precondition(r);
      double const rz_new = field_dot(r, z);
      broken = !(rz_new > 0.0 && std::isfinite(rz_new));
      p.mul_(rz_new / rz).add_(z);
      rz = rz_new;
    }
    r = system.residual(result.u);
    result.relative_residual = relative_norm();
    result.converged = result.relative_residual <= options.tolerance;
    if (broken || !(result.relative_residual < at_round_start)) {
      break;  // indefinite, not finite, or at the limit of rounding
    }
  }
  if (system.floating()) {
    remove_mean(result.u);
  }
  return result;
}

}  // namespace voxcycle
