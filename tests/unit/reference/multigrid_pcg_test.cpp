// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/reference/multigrid_pcg.hpp"

#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/reference/fast_poisson.hpp"

#include <cmath>

#include "../poisson/q1_elements.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

using testing::kl_sample;
using testing::random_voxels;
using testing::relative_difference;

// Both solvers reach residuals of 1e-12; condition numbers below 1e5 leave less than this.
constexpr SolveOptions tight{1e-12, 200};
constexpr double agreement = 1e-9;

MultigridOptions galerkin() {
  return {2, CoarseOperator::galerkin, at::kDouble};
}

// Spheres of value `contrast` in a background of 1.
at::Tensor spheres(std::int64_t n, double contrast) {
  at::Tensor nu = at::ones({n, n, n}, at::kDouble);
  at::Tensor const s = (at::arange(n, at::kDouble) + 0.5) / static_cast<double>(n);
  for (int i = 0; i < 12; ++i) {
    at::Tensor const c = at::rand({3}, at::kDouble);
    at::Tensor const distance = (s - c[0]).square().view({n, 1, 1}) +
                                (s - c[1]).square().view({1, n, 1}) + (s - c[2]).square();
    nu = at::where(distance < 0.02, contrast, nu);
  }
  return nu.view({1, 1, n, n, n}).contiguous();
}

TEST(MultigridPcg, AgreesWithFftPcg) {
  at::manual_seed(1);
  Grid3 const grid{{24, 16, 20}, {1.2, 0.8, 1.0}};
  at::Tensor const nu = random_voxels(grid, 1);
  at::Tensor b = load_of_source(random_voxels(grid, 1), grid);
  b -= b.mean();
  for (char const* faces : {"1, 0, flux, flux, flux, flux", "flux, 2, -1, flux, flux, 0.5",
                            "flux, flux, flux, flux, flux, flux", "1, 2, 3, 4, 5, 6"}) {
    Problem const problem{grid, parse_boundary(faces)};
    auto const expected = solve_fft_pcg(problem, nu, FastPoisson(problem), tight, b);
    auto const average = solve_multigrid_pcg(problem, nu, tight, {}, b);
    auto const exact = solve_multigrid_pcg(problem, nu, tight, galerkin(), b);
    ASSERT_TRUE(expected.converged && average.converged && exact.converged) << faces;
    EXPECT_LT(relative_difference(average.u, expected.u), agreement) << faces;
    EXPECT_LT(relative_difference(exact.u, expected.u), agreement) << faces;
  }
}

TEST(MultigridPcg, NeedsFewIterationsOnTheBenchmarkOnEveryGrid) {
  for (int n : {16, 32, 64}) {
    Problem const problem{Grid3::cube(n), Boundary{}};
    at::Tensor const nu = kl_sample(n);
    // Measured: 6 (5 with four smoothing steps); Chebyshev's coefficients off by a half cost more.
    auto const result = solve_multigrid_pcg(problem, nu, {1e-8, 7});
    EXPECT_TRUE(result.converged) << n;
    EXPECT_TRUE(
        solve_multigrid_pcg(problem, nu, {1e-8, 7}, MultigridOptions{2, {}, at::kFloat}).converged)
        << n;
    EXPECT_TRUE(solve_multigrid_pcg(problem, nu, {1e-8, 5}, MultigridOptions{4}).converged) << n;
    if (n == 32) {
      auto const expected = solve_fft_pcg(problem, nu, FastPoisson(problem), tight);
      auto const energy = energy_and_gradient(result.u, nu, problem.grid).energy.item<double>();
      auto const least = energy_and_gradient(expected.u, nu, problem.grid).energy.item<double>();
      EXPECT_NEAR(energy, least, 1e-12 * least);  // the square of the residual's order
    }
  }
}

TEST(MultigridPcg, ConvergesForHighContrast) {
  at::manual_seed(2);
  Problem const problem{Grid3::cube(32), Boundary{}};
  for (double contrast : {1e-6, 1e4}) {
    at::Tensor const nu = spheres(32, contrast);
    auto const average = solve_multigrid_pcg(problem, nu, {1e-10, 120});
    auto const exact = solve_multigrid_pcg(problem, nu, {1e-10, 120}, galerkin());
    EXPECT_TRUE(average.converged && exact.converged) << contrast;
    // Contrast amplifies what is left in u; energies differ by the square of it.
    double const a = energy_and_gradient(average.u, nu, problem.grid).energy.item<double>();
    double const b = energy_and_gradient(exact.u, nu, problem.grid).energy.item<double>();
    EXPECT_NEAR(a, b, agreement * b);
  }
}

}  // namespace
}  // namespace voxcycle
