// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/source_term.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/poisson/multigrid.hpp"
#include "voxcycle/poisson/sample_sums.hpp"

#include "train/energy_scale.hpp"
#include "train/losses.hpp"
#include "train/sample_numbers.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

class EnergyMultigridLoss final : public Loss {
 public:
  explicit EnergyMultigridLoss(LossProblem const& problem)
      : problem_(problem),
        source_(problem.space, problem.source, problem.device),
        scale_("energy_multigrid", problem) {}

  LossTerms evaluate(LossInput const& in) const override {
    auto const dtype = in.u.scalar_type();
    auto const b = source_.load(in.f, in.u.scalar_type());
    at::Tensor const one = at::ones_like(in.nu);
    Multigrid const multigrid(problem_.space, problem_.boundary, in.nu, {.dtype = dtype});
    at::Tensor const scales = (in.numbers.defined() ? in.numbers : scales_.of(in.samples, [&] {
                                return energies(in, multigrid);
                              })).to(in.nu.device(), at::kDouble, /*non_blocking=*/true);
    at::Tensor const scale = scales.select(1, 0);
    at::Tensor const scale_of_one = scales.select(1, 1);
    auto [energy, gradient] = energy_and_gradient(in.u, in.nu, problem_.space, b);
    at::Tensor const e = multigrid.cycle(gradient.neg());
    auto const of_error = energy_and_gradient(e, one, problem_.space);
    gradient.mul_(as_factor(0.5 / scale, dtype));
    gradient.sub_(of_error.gradient.mul(as_factor(0.5 / scale_of_one, dtype)));
    return {0.5 * energy / scale + 0.5 * of_error.energy / scale_of_one, gradient};
  }

  /// The energies of the solution for nu and for 1.
  at::Tensor sample_numbers(LossInput const& in) const override {
    return scales_.of(in.samples, [&] {
      auto const dtype = in.nu.scalar_type();
      return energies(in, {problem_.space, problem_.boundary, in.nu, {.dtype = dtype}});
    });
  }

 private:
  at::Tensor energies(LossInput const& in, Multigrid const& multigrid) const {
    auto const b = source_.load(in.f, in.nu.scalar_type());
    at::Tensor const solution = scale_.solution(in.nu, multigrid, b);
    return at::stack({scale_.stored_energy(solution, in.nu),
                      scale_.stored_energy(solution, at::ones_like(in.nu))},
                     1);
  }

  LossProblem problem_;
  SourceTerm source_;
  EnergyScale scale_;
  SampleNumbers mutable scales_;
};

}  // namespace

std::unique_ptr<Loss> make_energy_multigrid_loss(LossProblem const& problem) {
  return std::make_unique<EnergyMultigridLoss>(problem);
}

}  // namespace voxcycle
