// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"

#include "train/losses.hpp"
#include "train/sample_sums.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

class ResidualLoss final : public Loss {
 public:
  explicit ResidualLoss(LossProblem const& problem)
      : grid_(problem.grid),
        lift_(lift(problem.grid, problem.boundary, at::kDouble)),
        mask_(free_node_mask(problem.grid, problem.boundary, at::kDouble)) {
    VOXCYCLE_REQUIRE(lift_.max().item<double>() > lift_.min().item<double>(),
                     "loss residual: the boundary values are all equal, so the lift has no forces "
                     "to divide by. Give two faces different values.");
  }

  LossTerms evaluate(LossInput const& in) const override {
    auto const dtype = in.u.scalar_type();
    at::Tensor const start = lift_.to(dtype).expand(in.u.sizes()).contiguous();
    at::Tensor const forces = apply_stiffness(start, in.nu, grid_);
    at::Tensor const scale = sample_dots(forces, forces);
    at::Tensor const r = apply_stiffness(in.u, in.nu, grid_).mul_(mask_.to(dtype));
    at::Tensor const gradient = apply_stiffness(r, in.nu, grid_);
    gradient.mul_(as_factor(2.0 / scale, dtype));
    return {sample_dots(r, r) / scale, gradient};
  }

 private:
  Grid3 grid_;
  at::Tensor lift_;
  at::Tensor mask_;
};

}  // namespace

std::unique_ptr<Loss> make_residual_loss(LossProblem const& problem) {
  return std::make_unique<ResidualLoss>(problem);
}

}  // namespace voxcycle
