// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/multigrid_pcg.hpp"

#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/solver/conductivity.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

TEST(MultigridPcgOnGpu, SolvesAsTheCpu) {
  at::manual_seed(1);
  Problem const problem{Grid3::cube(32), Boundary{}};
  at::Tensor const smooth = at::exp(at::randn({1, 1, 32, 32, 32}, at::kDouble).mul(0.1));
  at::Tensor const rough = at::where(at::rand({1, 1, 32, 32, 32}) > 0.5, 1e3, 1.0).to(at::kDouble);
  // Bodies of a few voxels that touch each other nowhere.
  at::Tensor const grains =
      at::where(at::rand({1, 1, 32, 32, 32}) > 0.97, 1e7, 1.0).to(at::kDouble);
  at::Tensor const b = load_of_source(2.5, problem.grid);
  for (auto const& nu : {smooth, rough, grains}) {
    auto const here = solve_multigrid_pcg(problem, nu, {.tolerance = 1e-10}, {}, b);
    auto const there = solve_multigrid_pcg(problem, nu.cuda(), {.tolerance = 1e-10}, {}, b.cuda());
    EXPECT_TRUE(there.converged);
    EXPECT_TRUE(there.u.is_cuda());
    EXPECT_NEAR(there.iterations, here.iterations, 1);
    double const error = ((there.u.cpu() - here.u).norm() / here.u.norm()).item<double>();
    EXPECT_LT(error, 1e-8);
  }
}

// Both schemes, with zeros, and what is proven of them.
TEST(MultigridPcgOnGpu, BracketsConductivitiesAsTheCpu) {
  at::manual_seed(2);
  Grid3 const grid{{13, 12, 14}, {1.0, 1.0, 1.0}};
  at::Tensor const nu =
      at::exp(at::randn({13, 12, 14}, at::kDouble)) * (at::rand({13, 12, 14}) < 0.8);
  ConductivityOptions options{.tolerance = 1e-10};
  auto const here = conductivity_along(grid, nu, 1, options);
  options.device = at::kCUDA;
  auto const there = conductivity_along(grid, nu, 1, options);
  EXPECT_TRUE(here.percolates && there.converged);
  EXPECT_NEAR(there.upper / here.upper, 1.0, 1e-9);
  EXPECT_NEAR(there.lower / here.lower, 1.0, 1e-9);
  EXPECT_LT(there.lower, there.upper);
}

}  // namespace
}  // namespace voxcycle
