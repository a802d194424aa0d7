// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/network/source_term.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/poisson/sample_sums.hpp"

#include "train/losses.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

class ResidualLoss final : public Loss {
 public:
  explicit ResidualLoss(LossProblem const& problem)
      : grid_(problem.grid),
        source_(problem.grid, problem.source, problem.device),
        lift_(lift(grid_, from_datum(problem.boundary),
                   at::device(problem.device).dtype(at::kDouble))),
        mask_(free_node_mask(problem.grid, problem.boundary,
                             at::device(problem.device).dtype(at::kDouble))) {
    VOXCYCLE_REQUIRE(!source_.is_zero() || problem.boundary.has_different_values(),
                     "loss residual: the boundary values are all equal and the source is zero, so "
                     "there are no forces to divide by. Give two faces different values, or set a "
                     "source.");
  }

  LossTerms evaluate(LossInput const& in) const override {
    auto const dtype = in.u.scalar_type();
    at::Tensor const start = lift_.to(dtype).expand(in.u.sizes()).contiguous();
    at::Tensor const forces = apply_stiffness(start, in.nu, grid_);
    at::Tensor scale = sample_dots(forces, forces);
    auto const b = source_.load(in.f, in.u.scalar_type());
    if (b) scale = scale + sample_dots(*b, *b);
    at::Tensor const r = energy_and_gradient(in.u, in.nu, grid_, b).gradient.mul_(mask_.to(dtype));
    at::Tensor const gradient = apply_stiffness(r, in.nu, grid_);
    gradient.mul_(as_factor(2.0 / scale, dtype));
    return {sample_dots(r, r) / scale, gradient};
  }

 private:
  Grid3 grid_;
  SourceTerm source_;
  at::Tensor lift_;
  at::Tensor mask_;
};

}  // namespace

std::unique_ptr<Loss> make_residual_loss(LossProblem const& problem) {
  return std::make_unique<ResidualLoss>(problem);
}

}  // namespace voxcycle
