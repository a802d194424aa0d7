// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/quick_estimate.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/solver/multigrid_pcg.hpp"

#include <cmath>

#include "../poisson/q1_elements.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace quick_estimate_test {

using testing::kl_sample;
using testing::random_nodes;
using testing::random_voxels;

double norm(at::Tensor const& e, at::Tensor const& nu, Grid3 const& grid) {
  return std::sqrt(2.0 * energy_and_gradient(e, nu, grid).energy.item<double>());
}

Preconditioner by(Multigrid const& cycle) {
  return [&](at::Tensor const& r) { return cycle.cycle(r); };
}

// Errors of every wavelength: cycles contract smooth ones to about a tenth, so that B K lies in
// (0.8, 1] on this field.
TEST(QuickEstimate, IsNearTheTrueErrorOnSmoothCoefficients) {
  at::manual_seed(4);
  Problem const problem{Grid3::cube(16), parse_boundary("1, 0, flux, 2, flux, flux")};
  at::Tensor const nu = kl_sample(16);
  at::Tensor const b = load_of_source(random_voxels(problem.grid, 1), problem.grid);
  Multigrid const cycle(problem.grid, problem.boundary, nu);
  auto const exact = solve_multigrid_pcg(problem, nu, {1e-13, 100}, {}, b);
  at::Tensor const mask = free_node_mask(problem.grid, problem.boundary, at::kDouble);
  for (double const size : {1e-1, 1e-6}) {
    at::Tensor const u = exact.u + mask * random_nodes(problem.grid, 1) * size;
    double const error = norm(u - exact.u, nu, problem.grid) / norm(u, nu, problem.grid);
    double const estimate = quick_error_estimate(problem, nu, u, by(cycle), b);
    EXPECT_GT(estimate, std::sqrt(0.8) * error);
    EXPECT_LT(estimate, 1.02 * error);
  }
}

TEST(QuickEstimate, OfTheSolutionIsNothing) {
  Problem const problem{Grid3::cube(8), {}};
  at::Tensor const nu = at::ones({1, 1, 8, 8, 8}, at::kDouble);
  Multigrid const cycle(problem.grid, problem.boundary, nu);
  at::Tensor const u = lift(problem.grid, problem.boundary, at::kDouble);
  EXPECT_LT(quick_error_estimate(problem, nu, u, by(cycle)), 1e-14);
  EXPECT_THROW(quick_error_estimate(problem, nu, u + 1.0, by(cycle)), Error);
}

TEST(QuickEstimate, OfWhatIsNotFiniteIsInfinite) {
  Problem const problem{Grid3::cube(8), {}};
  at::Tensor const nu = at::ones({1, 1, 8, 8, 8}, at::kDouble);
  Multigrid const cycle(problem.grid, problem.boundary, nu);
  at::Tensor const u = lift(problem.grid, problem.boundary, at::kDouble).clone();
  u.select(2, 3).fill_(std::nan(""));
  EXPECT_TRUE(std::isinf(quick_error_estimate(problem, nu, u, by(cycle))));
}

TEST(QuickEstimate, OfAConstantThatIsNoSolutionIsInfinite) {
  Problem const problem{Grid3::cube(8), parse_boundary("0, 0, flux, flux, flux, flux")};
  at::Tensor const nu = at::ones({1, 1, 8, 8, 8}, at::kDouble);
  Multigrid const cycle(problem.grid, problem.boundary, nu);
  at::Tensor const b = load_of_source(nu, problem.grid);
  at::Tensor const u = lift(problem.grid, problem.boundary, at::kDouble);
  EXPECT_TRUE(std::isinf(quick_error_estimate(problem, nu, u, by(cycle), b)));
}

}  // namespace quick_estimate_test
}  // namespace voxcycle
