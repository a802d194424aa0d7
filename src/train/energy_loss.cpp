// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"

#include "train/losses.hpp"
#include <ATen/ATen.h>

namespace voxcycle {
namespace {

class EnergyLoss final : public Loss {
 public:
  explicit EnergyLoss(Grid3 const& grid) : grid_(grid) {}
  LossTerms evaluate(at::Tensor const& u, at::Tensor const& nu) const override {
    auto [energy, gradient] = energy_and_gradient(u, nu, grid_);
    return {energy, gradient};
  }

 private:
  Grid3 grid_;
};

class NormalisedEnergyLoss final : public Loss {
 public:
  NormalisedEnergyLoss(Grid3 const& grid, Boundary const& boundary)
      : grid_(grid), lift_(lift(grid, boundary, at::kDouble)) {
    VOXCYCLE_REQUIRE(lift_.max().item<double>() > lift_.min().item<double>(),
                     "loss energy_normalised: the boundary values are all equal, so the lift has "
                     "no energy to divide by. Give two faces different values.");
  }
  LossTerms evaluate(at::Tensor const& u, at::Tensor const& nu) const override {
    auto [energy, gradient] = energy_and_gradient(u, nu, grid_);
    auto shape = u.sizes().vec();
    at::Tensor const start = lift_.to(u.scalar_type()).expand(shape).contiguous();
    at::Tensor const scale = energy_and_gradient(start, nu, grid_).energy;
    gradient.div_(scale.to(u.scalar_type()).view({-1, 1, 1, 1, 1}));
    return {energy / scale, gradient};
  }

 private:
  Grid3 grid_;
  at::Tensor lift_;
};

}  // namespace

std::unique_ptr<Loss> make_energy_loss(Grid3 const& grid, Boundary const&) {
  return std::make_unique<EnergyLoss>(grid);
}

std::unique_ptr<Loss> make_normalised_energy_loss(Grid3 const& grid, Boundary const& boundary) {
  return std::make_unique<NormalisedEnergyLoss>(grid, boundary);
}

}  // namespace voxcycle
