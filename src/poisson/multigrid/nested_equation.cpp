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
  Space space;
  Boundary boundary;            // of the part
  std::optional<Space> halved;  // what from_coarser starts on, within the coarser grid's part
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

NestedEquation::NestedEquation(Space const& finest, Boundary const& boundary, at::Tensor const& nu,
                               std::optional<at::Tensor> const& b, Options const& options) {
  at::NoGradGuard const no_grad;
  Grid3 const& grid = finest.slab().whole;
  VOXCYCLE_REQUIRE(
      options.levels > 0 && grid.divisible(options.levels - 1),
      "grid " << grid.label() << " cannot be halved " << options.levels - 1 << " times.");
  auto op = make_voxel_operator(finest, nu);
  std::optional<at::Tensor> load;
  if (b) load = b->expand({nu.size(0), -1, -1, -1, -1}).contiguous();
  for (int left = options.levels; left > 0; --left) {
    Space const space = op->space();
    Coarsening coarse;
    std::optional<at::Tensor> coarse_load;
    std::optional<Space> halved;
    if (left > 1) {
      Space const below = space.below(space.slab().whole.coarsened(), options.above);
      coarse = op->coarsened(CoarseOperator::black_box, boundary);
      halved = coarse.op->space();
      if (load) coarse_load = halved->nodes_on(below, coarse.transfer->restricted(*load));
      if (!halved->is_whole()) coarse.op = coarse.op->on(below);
    } else {
      VOXCYCLE_REQUIRE(space.is_whole(), "nested grids: the coarsest is shared out.");
      coarsest_ = direct_solution(*op, boundary, nu, load, options.coarsest_lift);
    }
    Boundary const here = of_part(boundary, space.slab());
    at::Tensor const mask = free_node_mask(op->grid(), here, nu.options());
    Smoother smoother(std::move(op), mask, options.steps);
    levels_.push_back({space, here, halved, std::move(smoother), load, std::move(coarse.transfer)});
    op = std::move(coarse.op);
    load = coarse_load;
  }
}

NestedEquation::~NestedEquation() = default;
NestedEquation::NestedEquation(NestedEquation&&) noexcept = default;

at::Tensor NestedEquation::coarsest() const {
  return coarsest_;
}

Space const& NestedEquation::space(int level) const {
  return levels_.at(level).space;
}

at::Tensor NestedEquation::prolonged(int level, at::Tensor const& u) const {
  Level const& fine = levels_.at(level);
  Grid3 const grid = fine.space.slab().part();
  at::Tensor x = at::zeros(grid.node_shape(u.size(0)), u.options());
  fine.from_coarser->add_prolonged(x, space(level + 1).nodes_within(*fine.halved, u));
  fine.space.refresh_nodes(x);
  set_dirichlet_values(x, grid, fine.boundary);
  return x;
}

at::Tensor NestedEquation::restricted(int level, at::Tensor const& gradient) const {
  Level const& fine = levels_.at(level);
  return fine.halved->nodes_on(space(level + 1), fine.from_coarser->restricted(gradient));
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
