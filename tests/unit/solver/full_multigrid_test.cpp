// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/full_multigrid.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/solver/fast_poisson.hpp"

#include <cmath>

#include "../poisson/q1_elements.hpp"
#include "manufactured.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace full_multigrid_test {

using testing::kl_sample;
using testing::Manufactured;
using testing::random_voxels;

constexpr double rounding = 1e-12;

// One pass, whatever the grid, keeps its error falling with h as the discretisation error does.
// Measured orders: 1.25 from 16 to 32, 1.79 from 32 to 64.
TEST(FullMultigrid, OnePassConvergesToTheExactSolution) {
  double previous = 0.0;
  for (int n : {16, 32, 64}) {
    Problem const problem{Grid3::cube(n), Boundary{}};
    double const h = 1.0 / n;
    at::Tensor const nu = Manufactured::sample(Manufactured::nu, n, h, 0.5);
    at::Tensor const b =
        load_of_source(Manufactured::sample(Manufactured::f, n, h, 0.5), problem.grid);
    auto const result =
        full_multigrid(problem, nu, Multigrid(problem.grid, problem.boundary, nu), b);
    at::Tensor const error = result.u - Manufactured::sample(Manufactured::u, n + 1, h, 0.0);
    double const norm = error.square().mean().sqrt().item<double>();
    if (previous > 0.0) {
      EXPECT_GT(std::log2(previous / norm), 1.1) << n;
    }
    previous = norm;
  }
}

// Found: 0.0057; 0.0135 with the interval of cycles that precondition.
TEST(FullMultigrid, SmoothsWhatSuitsOnePass) {
  Problem const problem{Grid3::cube(32), Boundary{}};
  at::Tensor const nu = kl_sample(32);
  auto const result = full_multigrid(problem, nu, Multigrid(problem.grid, problem.boundary, nu));
  EXPECT_LT(result.relative_residual, 0.007);
}

TEST(FullMultigrid, TellsItsResidual) {
  Problem const problem{Grid3::cube(16), parse_boundary("1, 0, flux, 3, flux, flux")};
  at::Tensor const nu = kl_sample(16);
  auto const result = full_multigrid(problem, nu, Multigrid(problem.grid, problem.boundary, nu));
  at::Tensor const mask = free_node_mask(problem.grid, problem.boundary, at::kDouble);
  at::Tensor const lifted = lift(problem.grid, problem.boundary, at::kDouble);
  auto norm = [&](at::Tensor const& u) {
    return (apply_stiffness(u, nu, problem.grid) * mask).norm().item<double>();
  };
  EXPECT_NEAR(result.relative_residual, norm(result.u) / norm(lifted), rounding);
  EXPECT_TRUE(at::equal(result.u * (1.0 - mask), lifted * (1.0 - mask)));
}

TEST(FullMultigrid, PureZeroFluxHasZeroMeanAndBalancedLoads) {
  at::manual_seed(1);
  Grid3 const grid{{16, 8, 12}, {1.0, 0.5, 0.8}};
  Problem const problem{grid, parse_boundary("flux, flux, flux, flux, flux, flux")};
  at::Tensor const nu = random_voxels(grid, 1);
  at::Tensor const b = load_of_source(random_voxels(grid, 1), grid);
  Multigrid const multigrid(grid, problem.boundary, nu);
  at::Tensor const balanced = b - b.mean();
  auto const result = full_multigrid(problem, nu, multigrid, balanced);
  EXPECT_LT(std::abs(result.u.mean().item<double>()), rounding);
  auto const exact = solve_fft_pcg(problem, nu, FastPoisson(problem), {1e-12, 200}, balanced);
  auto energy = [&](at::Tensor const& u) {
    return energy_and_gradient(u, nu, grid).energy.item<double>();
  };
  EXPECT_LT(energy(result.u - exact.u), 0.01 * energy(exact.u));
  EXPECT_THROW(full_multigrid(problem, nu, multigrid, b), Error);
}

TEST(FullMultigrid, TheLiftMayBeTheSolution) {
  Problem const problem{Grid3::cube(8), Boundary{}};
  at::Tensor const nu = at::ones({1, 1, 8, 8, 8}, at::kDouble);
  auto const result = full_multigrid(problem, nu, Multigrid(problem.grid, problem.boundary, nu));
  EXPECT_LT(
      (result.u - lift(problem.grid, problem.boundary, at::kDouble)).abs().max().item<double>(),
      rounding);
}

TEST(FullMultigrid, RoundingOfTheLiftsResidualIsNotSolvedFor) {
  // 1 - x solves; 1/3, 1/5 and 1/7 leave rounding in every row.
  Grid3 const grid{{6, 10, 14}, {1.0, 1.0, 1.0}};
  Problem const problem{grid, Boundary{}};
  at::Tensor const nu = at::full({1, 1, 6, 10, 14}, 0.1, at::kDouble);
  at::Tensor const lifted = lift(grid, problem.boundary, at::kDouble);
  at::Tensor const free = free_node_mask(grid, problem.boundary, at::kDouble);
  ASSERT_GT((apply_stiffness(lifted, nu, grid) * free).norm().item<double>(), 0.0);
  auto const result = full_multigrid(problem, nu, Multigrid(grid, problem.boundary, nu));
  EXPECT_TRUE(at::equal(result.u, lifted));
  EXPECT_EQ(result.relative_residual, 0.0);
}

}  // namespace full_multigrid_test
}  // namespace voxcycle
