// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/reference/pcg.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"

#include <cmath>

#include "field_sums.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {
namespace {

// A pure zero-flux load must sum to zero; this share of the sum of magnitudes is rounding.
constexpr double compatibility_tolerance = 1e-10;

// The system on free nodes: its operator, load and residual.
class System {
 public:
  System(Problem const& problem, at::Tensor const& nu, std::optional<at::Tensor> const& b)
      : grid_(problem.grid),
        nu_(nu),
        floating_(!problem.boundary.has_dirichlet()),
        mask_(free_node_mask(problem.grid, problem.boundary, at::kDouble)) {
    require_voxels();
    if (!b) {
      return;
    }
    VOXCYCLE_REQUIRE(b->sizes() == mask_.sizes() && b->scalar_type() == at::kDouble,
                     "load has shape " << b->sizes() << " and type " << b->scalar_type()
                                       << ", expected " << mask_.sizes()
                                       << " in float64. Make it with load_of_source.");
    load_ = b->contiguous();
    double const total = field_sum(load_);
    double const magnitude = field_sum(load_.abs());
    VOXCYCLE_REQUIRE(std::isfinite(magnitude),
                     "load has values that are not finite. Check the source.");
    VOXCYCLE_REQUIRE(!floating_ || std::abs(total) <= compatibility_tolerance * magnitude,
                     "load sums to " << total
                                     << " but all six faces are zero-flux, so no solution exists. "
                                        "Balance the source or fix a value on one face.");
  }

  bool floating() const { return floating_; }
  at::IntArrayRef shape() const { return mask_.sizes(); }

  at::Tensor apply(at::Tensor const& p) const { return apply_stiffness(p, nu_, grid_).mul_(mask_); }

  at::Tensor residual(at::Tensor const& u) const {
    at::Tensor r = apply_stiffness(u, nu_, grid_).neg_();
    if (load_.defined()) {
      r.add_(load_);
    }
    r.mul_(mask_);
    if (floating_) {
      remove_mean(r);
    }
    return r;
  }

  // Whether u has the lift's values on Dirichlet nodes.
  bool fits(at::Tensor const& u, at::Tensor const& lifted) const {
    return at::equal(at::where(mask_ == 0, u, 0.0), at::where(mask_ == 0, lifted, 0.0));
  }

 private:
  void require_voxels() const {
    at::IntArrayRef const voxels(grid_.voxels.data(), 3);
    VOXCYCLE_REQUIRE(nu_.dim() == 5 && nu_.size(0) == 1 && nu_.size(1) == 1 &&
                         nu_.sizes().slice(2) == voxels && nu_.scalar_type() == at::kDouble,
                     "nu has shape " << nu_.sizes() << " and type " << nu_.scalar_type()
                                     << ", expected [1, 1, " << grid_.name()
                                     << "] in float64. Reference solves take one sample.");
    VOXCYCLE_REQUIRE(nu_.min().item<double>() > 0 && std::isfinite(nu_.max().item<double>()),
                     "nu has values that are not positive and finite (the equation is not "
                     "elliptic). Check the coefficient.");
  }

  Grid3 grid_;
  at::Tensor nu_;
  bool floating_;
  at::Tensor mask_;
  at::Tensor load_;
};

}  // namespace

SolveResult solve_pcg(Problem const& problem, at::Tensor const& nu,
                      Preconditioner const& precondition, SolveOptions const& options,
                      std::optional<at::Tensor> const& b, std::optional<at::Tensor> const& start) {
  at::NoGradGuard const no_grad;
  require_valid(problem.grid);
  System const system(problem, nu.contiguous(), b);
  at::Tensor const lifted = lift(problem.grid, problem.boundary, at::kDouble);
  at::Tensor r = system.residual(lifted);
  double const scale = std::sqrt(field_dot(r, r));
  SolveResult result{lifted, 0, 0.0, true};
  if (scale == 0.0) {
    return result;  // the lift solves the system
  }
  if (start) {
    VOXCYCLE_REQUIRE(start->sizes() == system.shape() && start->scalar_type() == at::kDouble &&
                         system.fits(*start, lifted),
                     "start does not have the boundary values of the problem (they would never "
                     "change). Start from lift + mask * anything, in float64.");
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
    at::Tensor z = precondition(r);
    at::Tensor p = z.clone();
    double rz = field_dot(r, z);
    bool broken = !(rz > 0.0 && std::isfinite(rz));
    while (!broken && result.iterations < options.max_iterations) {
      at::Tensor const q = system.apply(p);
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
      z = precondition(r);
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
