// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/pcg.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/solver/fast_poisson.hpp"

#include <cmath>
#include <limits>

#include "../poisson/q1_elements.hpp"
#include "manufactured.hpp"
#include "solver/system.hpp"
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace pcg_test {

using testing::dense_stiffness;
using testing::kl_sample;
using testing::Manufactured;
using testing::random_voxels;
using testing::relative_difference;

constexpr double tight = 1e-12;
// Of a residual by the recurrence, relative to the true one.
constexpr double rounding = 1e-6;
// A residual of 1e-12 times a condition number below 1e3.
constexpr double solved = 1e-9;
// Energies of one field that other code found are known to eleven digits.
constexpr double printed = 1e-8;

Grid3 const uneven{{3, 4, 5}, {1.0, 0.7, 1.9}};

SolveOptions to(double tolerance, int max_iterations = 500) {
  return {tolerance, max_iterations};
}

at::Tensor identity(at::Tensor const& r) {
  return r.clone();
}

// The whole system at once, with unit rows for Dirichlet nodes.
at::Tensor dense_solution(Problem const& problem, at::Tensor const& nu, at::Tensor const& b) {
  at::Tensor const fixed =
      1.0 - free_node_mask(problem.grid, problem.boundary, at::kDouble).flatten();
  at::Tensor const matrix =
      at::where(fixed.unsqueeze(1) == 1.0, at::diag(fixed), dense_stiffness(nu, problem.grid));
  at::Tensor const values = lift(problem.grid, problem.boundary, at::kDouble).flatten();
  return at::linalg_solve(matrix, at::where(fixed == 1.0, values, b.flatten())).view_as(b);
}

TEST(Pcg, EqualsDenseSolve) {
  at::manual_seed(1);
  at::Tensor const nu = random_voxels(uneven, 1);
  at::Tensor const b = load_of_source(random_voxels(uneven, 1), uneven);
  for (char const* faces : {"1, 0, flux, flux, flux, flux", "flux, 2, -1, flux, flux, 0.5",
                            "flux, flux, flux, flux, flux, 3", "1, 2, 3, 4, 5, 6"}) {
    Problem const problem{uneven, parse_boundary(faces)};
    at::Tensor const expected = dense_solution(problem, nu, b);
    auto const plain = solve_pcg(problem, nu, identity, to(tight), b);
    auto const fast = solve_fft_pcg(problem, nu, FastPoisson(problem), to(tight), b);
    EXPECT_TRUE(plain.converged && fast.converged) << faces;
    EXPECT_LT(relative_difference(plain.u, expected), solved) << faces;
    EXPECT_LT(relative_difference(fast.u, expected), solved) << faces;
  }
}

TEST(Pcg, FastPoissonSolvesConstantCoefficientAtOnce) {
  Problem const problem{Grid3::cube(16), parse_boundary("1, 0, 2, flux, flux, flux")};
  at::Tensor const nu = at::full({1, 1, 16, 16, 16}, 3.0, at::kDouble);
  auto const result = solve_fft_pcg(problem, nu, FastPoisson(problem), to(tight));
  EXPECT_TRUE(result.converged);
  EXPECT_EQ(result.iterations, 1);
}

TEST(Pcg, BenchmarkEnergies) {
  double const expected[2] = {1.3891881303, 1.3877024717};
  for (int i = 0; i < 2; ++i) {
    int const n = 32 << i;
    Problem const problem{Grid3::cube(n), Boundary{}};
    at::Tensor const nu = kl_sample(n);
    auto const result = solve_fft_pcg(problem, nu, FastPoisson(problem));
    EXPECT_TRUE(result.converged);
    EXPECT_LE(result.relative_residual, SolveOptions{}.tolerance);
    auto const energy = energy_and_gradient(result.u, nu, problem.grid).energy;
    EXPECT_NEAR(2.0 * energy.item<double>(), expected[i], printed * expected[i]);
    RecordProperty("iterations", result.iterations);
  }
}

TEST(Pcg, ManufacturedSolutionConvergesWithSecondOrder) {
  double previous = 0.0;
  for (int n : {16, 32}) {
    Problem const problem{Grid3::cube(n), Boundary{}};
    double const h = 1.0 / n;
    at::Tensor const nu = Manufactured::sample(Manufactured::nu, n, h, 0.5);
    at::Tensor const b =
        load_of_source(Manufactured::sample(Manufactured::f, n, h, 0.5), problem.grid);
    auto const result = solve_fft_pcg(problem, nu, FastPoisson(problem), {}, b);
    EXPECT_TRUE(result.converged);
    at::Tensor const error = result.u - Manufactured::sample(Manufactured::u, n + 1, h, 0.0);
    double const norm = error.square().mean().sqrt().item<double>();
    if (previous > 0.0) {
      EXPECT_NEAR(std::log2(previous / norm), 2.0, 0.1) << "errors " << previous << ", " << norm;
    }
    previous = norm;
  }
}

TEST(Pcg, ErrorsAreWithinTheirBound) {
  at::manual_seed(6);
  Grid3 const grid{{5, 4, 6}, {1.0, 0.7, 1.9}};
  double closest = 0.0;
  for (char const* faces : {"1, 0, flux, flux, flux, flux", "flux, 2, -1, flux, flux, 0.5",
                            "300, 300, 301, 300, 300, 300", "flux, flux, flux, flux, flux, 3"}) {
    for (double const contrast : {1.0, 1e3, 1e6}) {
      Problem const problem{grid, parse_boundary(faces)};
      at::Tensor const nu = at::exp(at::rand(grid.voxel_shape(), at::kDouble) * std::log(contrast));
      at::Tensor const b = load_of_source(random_voxels(grid, 1), grid);
      at::Tensor const exact = dense_solution(problem, nu, b);
      auto const norm = [&](at::Tensor const& e) {
        return std::sqrt(2.0 * energy_and_gradient(e, nu, grid).energy.item<double>());
      };
      for (double const tolerance : {0.3, 1e-2, 1e-4}) {
        auto const result = solve_pcg(problem, nu, identity, {tolerance, 500, 1e300}, b);
        double const error = norm(result.u - exact) / norm(from_datum(exact, problem.boundary));
        EXPECT_LE(error, result.error_bound) << faces << ' ' << contrast << ' ' << tolerance;
        closest = std::max(closest, error / result.error_bound);
      }
    }
  }
  EXPECT_GT(closest, 0.02) << "a bound so wide tells nothing";
  RecordProperty("closest", std::to_string(closest));
}

TEST(Pcg, TheBoundOfErrorsKnowsTheLeastEigenvalue) {
  at::Tensor const nu = at::ones(uneven.voxel_shape(), at::kDouble);
  at::Tensor const u = at::rand(uneven.node_shape(), at::kDouble);
  at::Tensor const stiffness = dense_stiffness(nu, uneven);
  double const energy = u.flatten().dot(stiffness.mv(u.flatten())).item<double>();
  for (char const* faces : {"1, 0, flux, flux, flux, flux", "flux, 2, -1, flux, flux, 0.5",
                            "0, 0, 0, 0, 0, 0", "flux, flux, flux, flux, flux, flux"}) {
    Problem const problem{uneven, parse_boundary(faces)};
    at::Tensor r = at::zeros_like(u);
    r.view(-1)[7] = 1.0;
    auto const bound = System(problem, nu, {}).error_bound(r, u);
    double const known = 1.0 / (bound.factor * bound.factor * energy);
    EXPECT_GT(bound.rounding, 0.0);
    EXPECT_NEAR(bound.at(bound.residual_at(0.25)), 0.25, tight);
    EXPECT_TRUE(std::isinf(bound.at(1.1 / bound.factor)));
    at::Tensor const free =
        free_node_mask(uneven, problem.boundary, at::kDouble).flatten().nonzero().squeeze(1);
    at::Tensor const values =
        at::linalg_eigvalsh(stiffness.index_select(0, free).index_select(1, free));
    double const minimum = values[problem.boundary.has_dirichlet() ? 0 : 1].item<double>();
    EXPECT_LE(known, minimum * (1.0 + solved)) << faces;
    EXPECT_GE(known, minimum / 8.0) << faces << ": nodes at zero-flux corners weigh an eighth";
  }
}

TEST(Pcg, NothingIsFreeWhereOneVoxelLiesBetweenTwoFaces) {
  for (Grid3 const& grid : {Grid3{{1, 4, 4}, {1, 1, 1}}, Grid3{{1, 1, 1}, {1, 1, 1}}}) {
    Problem const problem{grid, Boundary{}};
    auto const result = solve_pcg(problem, random_voxels(grid, 1), identity);
    EXPECT_TRUE(result.converged);
    EXPECT_EQ(result.error_bound, 0.0);
  }
}

// The datum rounds what is much smaller.
TEST(Pcg, TheBoundIsThatOfTheSolutionAsItIsGiven) {
  Problem const problem{uneven, parse_boundary("300, flux, flux, flux, 300, flux")};
  at::Tensor const nu = random_voxels(uneven, 1);
  at::Tensor const b = load_of_source(1e-9, uneven);
  auto const result = solve_pcg(problem, nu, identity, to(1e-12), b);
  at::Tensor const exact =
      solve_pcg({uneven, from_datum(problem.boundary)}, nu, identity, to(1e-14), b).u;
  auto const norm = [&](at::Tensor const& e) {
    return std::sqrt(2.0 * energy_and_gradient(e, nu, uneven).energy.item<double>());
  };
  double const error = norm(result.u - 300.0 - exact) / norm(exact);
  EXPECT_GT(error, 1e-8);
  EXPECT_LE(error, result.error_bound);
}

// Steps minimise errors: residuals may rise again, here by a preconditioner that fits badly.
TEST(Pcg, WhatMetTheToleranceStaysConverged) {
  Problem const problem{Grid3::cube(6), Boundary{}};
  at::manual_seed(9);
  at::Tensor const nu = at::exp(at::rand({1, 1, 6, 6, 6}, at::kDouble) * std::log(1e6));
  at::Tensor const weights =
      at::exp(at::rand(problem.grid.node_shape(), at::kDouble) * std::log(1e4));
  auto const after = [&](SolveOptions const& options) {
    return solve_pcg(
        problem, nu, [&](at::Tensor const& r) { return r * weights; }, options);
  };
  double lowest = 1.0;
  int rises = 0;
  for (int k = 1; k < 60; ++k) {
    double const now = after({1e-12, k, 1e-9}).relative_residual;
    double const next = after({1e-12, k + 1, 1e-9}).relative_residual;
    bool const rises_here = now < lowest && next > now * (1.0 + rounding);
    lowest = std::min(lowest, now);
    if (!rises_here) continue;
    ++rises;
    auto const result = after({now * (1.0 + 0.5 * rounding), k + 1, 1e-9});
    EXPECT_EQ(result.relative_residual, next);
    EXPECT_TRUE(result.converged) << k;
  }
  EXPECT_GT(rises, 0);
}

TEST(Pcg, PureZeroFluxHasZeroMean) {
  at::manual_seed(2);
  Problem const problem{uneven, parse_boundary("flux, flux, flux, flux, flux, flux")};
  at::Tensor const nu = random_voxels(uneven, 1);
  at::Tensor const b = load_of_source(random_voxels(uneven, 1), uneven);
  at::Tensor const balanced = b - b.mean();
  at::Tensor const expected =
      at::linalg_solve(dense_stiffness(nu, uneven) + 1.0, balanced.flatten()).view_as(b);
  auto const plain = solve_pcg(problem, nu, identity, to(tight), balanced);
  auto const fast = solve_fft_pcg(problem, nu, FastPoisson(problem), to(tight), balanced);
  EXPECT_TRUE(plain.converged && fast.converged);
  EXPECT_LT(relative_difference(plain.u, expected), solved);
  EXPECT_LT(relative_difference(fast.u, expected), solved);
  auto const rough = solve_pcg(problem, nu, identity, to(0.1), balanced);
  auto const norm = [&](at::Tensor const& e) {
    return std::sqrt(2.0 * energy_and_gradient(e, nu, uneven).energy.item<double>());
  };
  EXPECT_LE(norm(rough.u - expected) / norm(rough.u), rough.error_bound);
  EXPECT_LT(std::abs(fast.u.mean().item<double>()), tight);
  EXPECT_THROW((void)solve_pcg(problem, nu, identity, {}, b), Error);
  EXPECT_EQ(solve_pcg(problem, nu, identity).u.abs().max().item<double>(), 0.0);
}

TEST(Pcg, TellsWhenItHasNotConverged) {
  Problem const problem{Grid3::cube(16), Boundary{}};
  at::Tensor const nu = kl_sample(16);
  auto const result = solve_pcg(problem, nu, identity, to(1e-10, 3));
  EXPECT_FALSE(result.converged);
  EXPECT_EQ(result.iterations, 3);
  at::Tensor const mask = free_node_mask(problem.grid, problem.boundary, at::kDouble);
  auto norm = [&](at::Tensor const& u) {
    return (apply_stiffness(u, nu, problem.grid) * mask).norm().item<double>();
  };
  double const expected = norm(result.u) / norm(lift(problem.grid, problem.boundary, at::kDouble));
  EXPECT_NEAR(result.relative_residual, expected, tight);
}

TEST(Pcg, OverwritesAStartThatNobodyElseHolds) {
  Problem const problem{Grid3::cube(8), Boundary{}};
  at::Tensor const nu = kl_sample(8);
  at::manual_seed(3);
  at::Tensor const start = lift(problem.grid, problem.boundary, at::kDouble) +
                           free_node_mask(problem.grid, problem.boundary, at::kDouble) *
                               at::rand({1, 1, 9, 9, 9}, at::kDouble);
  at::Tensor const before = start.clone();
  auto const held = solve_pcg(problem, nu, identity, to(1e-10, 20), {}, start);
  EXPECT_TRUE(at::equal(start, before));
  std::optional<at::Tensor> view = start.view(start.sizes());
  auto const seen = solve_pcg(problem, nu, identity, to(1e-10, 20), {}, std::move(view));
  EXPECT_TRUE(at::equal(seen.u, held.u));
  EXPECT_TRUE(at::equal(start, before));
  std::optional<at::Tensor> alone = start.clone();
  auto const* place = alone->const_data_ptr();
  auto const result = solve_pcg(problem, nu, identity, to(1e-10, 20), {}, std::move(alone));
  EXPECT_TRUE(at::equal(result.u, held.u));
  EXPECT_EQ(result.u.const_data_ptr(), place);
}

TEST(Pcg, StopsOnABrokenPreconditioner) {
  Problem const problem{Grid3::cube(4), Boundary{}};
  at::Tensor const nu = kl_sample(4);
  int calls = 0;
  auto nan_later = [&](at::Tensor const& r) {
    return ++calls < 3 ? r.clone() : r * std::numeric_limits<double>::quiet_NaN();
  };
  auto const broken = solve_pcg(problem, nu, nan_later);
  EXPECT_FALSE(broken.converged);
  EXPECT_TRUE(broken.u.isfinite().all().item<bool>());
  EXPECT_LT(broken.relative_residual, 1.0);
  auto const negative = solve_pcg(problem, nu, [](at::Tensor const& r) { return -r; });
  EXPECT_FALSE(negative.converged);
  EXPECT_EQ(negative.iterations, 0);
}

TEST(Pcg, ToleranceBelowRoundingEndsThere) {
  Problem const problem{Grid3::cube(8), Boundary{}};
  auto const result = solve_fft_pcg(problem, kl_sample(8), FastPoisson(problem), to(1e-30));
  EXPECT_TRUE(result.converged);
  EXPECT_LT(result.relative_residual, tight);
}

TEST(Pcg, StartsFromAGivenField) {
  Problem const problem{Grid3::cube(8), Boundary{}};
  at::Tensor const nu = kl_sample(8);
  FastPoisson const fast(problem);
  auto const first = solve_fft_pcg(problem, nu, fast, to(tight));
  auto const again = solve_fft_pcg(problem, nu, fast, to(1e-10), std::nullopt, first.u);
  EXPECT_EQ(again.iterations, 0);
  EXPECT_TRUE(again.converged);
  EXPECT_THROW((void)solve_fft_pcg(problem, nu, fast, {}, std::nullopt, first.u + 1.0), Error);
}

TEST(Pcg, SameBitsForAnyNumberOfThreads) {
  Problem const problem{Grid3::cube(24), Boundary{}};
  at::Tensor const nu = kl_sample(24);
  FastPoisson const fast(problem);
  int const threads = at::get_num_threads();
  at::set_num_threads(1);
  auto const alone = solve_fft_pcg(problem, nu, fast);
  at::set_num_threads(2);
  auto const shared = solve_fft_pcg(problem, nu, fast);
  at::set_num_threads(threads);
  EXPECT_TRUE(at::equal(alone.u, shared.u));
  EXPECT_EQ(alone.iterations, shared.iterations);
}

TEST(Pcg, RefusesWhatIsNotElliptic) {
  Problem const problem{Grid3::cube(4), Boundary{}};
  at::Tensor nu = kl_sample(4);
  EXPECT_THROW((void)solve_pcg(problem, kl_sample(8), identity), Error);
  EXPECT_THROW((void)solve_pcg(problem, nu.to(at::kFloat), identity), Error);
  EXPECT_THROW((void)solve_pcg(problem, nu * 0.0, identity), Error);
  nu[0][0][1][2][3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW((void)solve_pcg(problem, nu, identity), Error);
}

}  // namespace pcg_test
}  // namespace voxcycle
