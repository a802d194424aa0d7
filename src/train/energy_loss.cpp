// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/source_term.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/poisson/sample_sums.hpp"

#include "train/energy_scale.hpp"
#include "train/losses.hpp"
#include "train/sample_numbers.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

class EnergyLoss final : public Loss {
 public:
  explicit EnergyLoss(LossProblem const& problem)
      : space_(problem.space), source_(problem.space, problem.source, problem.device) {}
  LossTerms evaluate(LossInput const& in) const override {
    auto [energy, gradient] =
        energy_and_gradient(in.u, in.nu, space_, source_.load(in.f, in.u.scalar_type()));
    return {energy, gradient};
  }

 private:
  Space space_;
  SourceTerm source_;
};

class NormalisedEnergyLoss final : public Loss {
 public:
  explicit NormalisedEnergyLoss(LossProblem const& problem)
      : problem_(problem),
        source_(problem.space, problem.source, problem.device),
        scale_("energy_normalised", problem) {}
  LossTerms evaluate(LossInput const& in) const override {
    auto const dtype = in.u.scalar_type();
    auto const b = source_.load(in.f, in.u.scalar_type());
    at::Tensor const scale = (in.numbers.defined() ? in.numbers : sample_numbers(in))
                                 .to(in.nu.device(), at::kDouble, /*non_blocking=*/true)
                                 .select(1, 0);
    auto [energy, gradient] = energy_and_gradient(in.u, in.nu, problem_.space, b);
    gradient.div_(as_factor(scale, dtype));
    return {energy / scale, gradient};
  }

  /// The energy of the solution.
  at::Tensor sample_numbers(LossInput const& in) const override {
    return scales_.of(in.samples, [&] {
      auto const dtype = in.nu.scalar_type();
      Multigrid const multigrid(problem_.space, problem_.boundary, in.nu, {.dtype = dtype});
      auto const solution = scale_.solution(in.nu, multigrid, source_.load(in.f, dtype));
      return scale_.stored_energy(solution, in.nu).unsqueeze(1);
    });
  }

 private:
  LossProblem problem_;
  SourceTerm source_;
  EnergyScale scale_;
  SampleNumbers mutable scales_;
};

}  // namespace

std::unique_ptr<Loss> make_energy_loss(LossProblem const& problem) {
  return std::make_unique<EnergyLoss>(problem);
}

std::unique_ptr<Loss> make_normalised_energy_loss(LossProblem const& problem) {
  return std::make_unique<NormalisedEnergyLoss>(problem);
}

}  // namespace voxcycle
