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
      : space_(problem.space),
        source_(space_, problem.source, problem.device),
        lift_(lift_of_part(space_.slab(), from_datum(problem.boundary),
                           at::device(problem.device).dtype(at::kDouble))),
        mask_(free_node_mask(space_.slab().part(), of_part(problem.boundary, space_.slab()),
                             at::device(problem.device).dtype(at::kDouble))) {
    VOXCYCLE_REQUIRE(!source_.is_zero() || problem.boundary.has_different_values(),
                     "loss residual: the boundary values are all equal and the source is zero, so "
                     "there are no forces to divide by. Give two faces different values, or set a "
                     "source.");
  }

  LossTerms evaluate(LossInput const& in) const override {
    auto const dtype = in.u.scalar_type();
    at::Tensor const start = lift_.to(dtype).expand(in.u.sizes()).contiguous();
    at::Tensor const forces = energy_and_gradient(start, in.nu, space_).gradient;
    at::Tensor scale = plane_dots(space_, forces, forces);
    auto const b = source_.load(in.f, in.u.scalar_type());
    if (b) scale = scale + plane_dots(space_, *b, *b);
    at::Tensor const r = energy_and_gradient(in.u, in.nu, space_, b).gradient.mul_(mask_.to(dtype));
    at::Tensor const gradient = energy_and_gradient(r, in.nu, space_).gradient;
    gradient.mul_(as_factor(2.0 / scale, dtype));
    return {plane_dots(space_, r, r) / scale, gradient};
  }

 private:
  Space space_;
  SourceTerm source_;
  at::Tensor lift_;
  at::Tensor mask_;
};

}  // namespace

std::unique_ptr<Loss> make_residual_loss(LossProblem const& problem) {
  return std::make_unique<ResidualLoss>(problem);
}

}  // namespace voxcycle
