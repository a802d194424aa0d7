// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/poisson/multigrid.hpp"

#include "loss_fields.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace energy_multigrid_loss_test {

using testing::dense_stiffness;
using testing::LossFields;
using testing::relative_difference;

constexpr double kRounding = 1e-10;  // float64, sums over 315 nodes and a direct coarse solve

/// What the loss adds to half the normalised energy: value and gradient.
LossTerms second_half(LossFields const& f) {
  auto const both = make_loss("energy_multigrid", f.problem)->evaluate(f.in);
  auto const energy = make_loss("energy_normalised", f.problem)->evaluate(f.in);
  return {both.values - 0.5 * energy.values, both.gradient - 0.5 * energy.gradient};
}

TEST(EnergyMultigridLoss, SecondHalfIsTheErrorOfOneVCycleInTheNormOfNuOne) {
  at::manual_seed(1);
  Grid3 const grid{{8, 6, 4}, {1.0, 0.8, 0.5}};  // two levels: the V-cycle is not exact
  LossFields const f(
      {grid, parse_boundary("2, flux, flux, flux, -1, flux"), {.kind = SourceKind::sampled}});
  auto const found = second_half(f);
  Multigrid const multigrid(grid, f.problem.boundary, f.in.nu);
  ASSERT_EQ(multigrid.levels(), 2);
  at::Tensor const one = dense_stiffness(at::ones({1, 1, 8, 6, 4}, at::kDouble), grid);
  auto const residual = [&](at::Tensor const& u) {
    at::Tensor r = at::empty_like(u);
    for (std::int64_t k : {0, 1}) {
      r[k].copy_((f.load(k) - f.stiffness(k).mv(u[k].flatten())).view_as(r[k]));
    }
    return r;
  };
  at::Tensor const lifted = f.lifted.expand_as(f.in.u).contiguous();
  at::Tensor const solutions = lifted + multigrid.full_cycle(residual(lifted));
  at::Tensor const errors = multigrid.cycle(residual(f.in.u));
  for (std::int64_t k : {0, 1}) {
    at::Tensor const u = solutions[k].flatten();
    double const scale = 0.5 * u.dot(one.mv(u)).item<double>();
    at::Tensor const e = errors[k].flatten();
    at::Tensor const forces = one.mv(e);
    EXPECT_NEAR(found.values[k].item<double>(), 0.25 * e.dot(forces).item<double>() / scale,
                kRounding);
    EXPECT_LT(relative_difference(found.gradient[k].flatten(), -0.5 * forces / scale), kRounding);
  }
}

TEST(EnergyMultigridLoss, ForConstantNuBothHalvesHaveTheSameGradient) {
  LossFields f({Grid3{{3, 4, 5}, {1.0, 0.7, 1.9}}, {}});  // small enough for an exact V-cycle
  f.in.nu = at::full_like(f.in.nu, 7.0);
  auto const energy = make_loss("energy_normalised", f.problem)->evaluate(f.in);
  EXPECT_LT(relative_difference(second_half(f).gradient * f.mask, 0.5 * energy.gradient * f.mask),
            kRounding);
}

}  // namespace energy_multigrid_loss_test
}  // namespace voxcycle
