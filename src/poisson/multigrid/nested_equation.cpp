// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/nested_equation.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/smoother.hpp"

#include <memory>
#include <utility>

#include "poisson/multigrid/coarsest_solver.hpp"
#include "poisson/operator/level_operator.hpp"
#include "poisson/operator/stencil_offsets.hpp"
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

namespace voxcycle {

static_assert((NestedEquation::max_voxels + 1) * (NestedEquation::max_voxels + 1) *
                  (NestedEquation::max_voxels + 1) <=
              CoarsestSolver::node_limit);

struct NestedEquation::Level {
  Grid3 grid;
  Smoother smoother;
  std::optional<at::Tensor> b;
  std::unique_ptr<Transfer> from_coarser;  // none on the coarsest
};

namespace {

/// K^-1 b with the exact Dirichlet values.
at::Tensor direct_solution(LevelOperator const& op, Boundary const& boundary, at::Tensor const& nu,
                           std::optional<at::Tensor> const& b, at::Tensor const& known_lift) {
  at::Tensor const start =
      (known_lift.defined() ? known_lift : lift(op.grid(), boundary, nu.options()))
          .expand({nu.size(0), -1, -1, -1, -1})
          .contiguous();
  at::Tensor r = op.apply(start).neg_();
  if (b) r.add_(*b);
  CoarsestSolver const solver(*op.entries(), boundary);
  return start + solver.solve(r);
}

}  // namespace

NestedEquation::NestedEquation(Grid3 const& grid, Boundary const& boundary, at::Tensor const& nu,
                               std::optional<at::Tensor> const& b, Options const& options)
    : boundary_(boundary) {
  at::NoGradGuard const no_grad;
  VOXCYCLE_REQUIRE(
      options.levels > 0 && grid.divisible(options.levels - 1),
      "grid " << grid.label() << " cannot be halved " << options.levels - 1 << " times.");
  auto op = make_voxel_operator(grid, nu);
  std::optional<at::Tensor> load;
  if (b) load = b->expand({nu.size(0), -1, -1, -1, -1}).contiguous();
  for (int left = options.levels; left > 0; --left) {
    Coarsening coarse;
    std::optional<at::Tensor> coarse_load;
    if (left > 1) {
      coarse = op->coarsened(CoarseOperator::black_box, boundary);
      if (load) coarse_load = coarse.transfer->restricted(*load);
    } else {
      coarsest_ = direct_solution(*op, boundary, nu, load, options.coarsest_lift);
    }
    Grid3 const here = op->grid();
    Smoother smoother(std::move(op), free_node_mask(here, boundary, nu.options()), options.steps);
    levels_.push_back({here, std::move(smoother), load, std::move(coarse.transfer)});
    op = std::move(coarse.op);
    load = coarse_load;
  }
}

NestedEquation::~NestedEquation() = default;
NestedEquation::NestedEquation(NestedEquation&&) noexcept = default;

at::Tensor NestedEquation::coarsest() const {
  return coarsest_;
}

at::Tensor NestedEquation::prolonged(int level, at::Tensor const& u) const {
  Level const& fine = levels_.at(level);
  at::Tensor x = at::zeros(fine.grid.node_shape(u.size(0)), u.options());
  fine.from_coarser->add_prolonged(x, u);
  set_dirichlet_values(x, fine.grid, boundary_);
  return x;
}

at::Tensor NestedEquation::restricted(int level, at::Tensor const& gradient) const {
  return levels_.at(level).from_coarser->restricted(gradient);
}

at::Tensor NestedEquation::smooth(int level, at::Tensor const& u) const {
  Level const& here = levels_.at(level);
  return here.smoother.smooth(u, here.b);
}

at::Tensor NestedEquation::smooth_change(int level, at::Tensor const& v) const {
  return levels_.at(level).smoother.smooth(v);
}

at::Tensor NestedEquation::residual(int level, at::Tensor const& u) const {
  Level const& here = levels_.at(level);
  return here.smoother.residual(u, here.b);
}

at::Tensor NestedEquation::product(int level, at::Tensor const& v) const {
  return levels_.at(level).smoother.product(v);
}

at::Tensor NestedEquation::transposed(int level, at::Tensor const& gradient) const {
  return levels_.at(level).smoother.transposed(gradient);
}

}  // namespace voxcycle
