// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/sample_sums.hpp"

#include "train/losses.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

class SupervisedLoss final : public Loss {
 public:
  explicit SupervisedLoss(LossProblem const& problem) : space_(problem.space) {
    VOXCYCLE_REQUIRE(
        !problem.source.is_zero() || problem.boundary.has_different_values(),
        "loss supervised: the boundary values are all equal and the source is zero, so "
        "every solution is constant and there is no size to divide by. Give two faces "
        "different values, or set a source.");
  }

  LossTerms evaluate(LossInput const& in) const override {
    at::Tensor const scale = plane_dots(space_, in.u_ref, in.u_ref);
    at::Tensor const error = in.u - in.u_ref;
    return {plane_dots(space_, error, error) / scale,
            error * as_factor(2.0 / scale, in.u.scalar_type())};
  }

 private:
  Space space_;
};

}  // namespace

std::unique_ptr<Loss> make_supervised_loss(LossProblem const& problem) {
  return std::make_unique<SupervisedLoss>(problem);
}

}  // namespace voxcycle
