// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/multigrid_pcg.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/solver/fast_poisson.hpp"
#include "voxcycle/solver/quick_estimate.hpp"
#include "voxcycle/solver/residual.hpp"

#include <cmath>
#include <limits>

#include "../poisson/q1_elements.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace multigrid_pcg_test {

using testing::kl_sample;
using testing::random_voxels;
using testing::relative_difference;

// Both solvers reach residuals of 1e-12; condition numbers below 1e5 leave less than this.
constexpr SolveOptions tight{1e-12, 200};
constexpr double agreement = 1e-9;

MultigridOptions black_box(at::ScalarType dtype = at::kDouble) {
  return {2, CoarseOperator::black_box, dtype};
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

class MultigridPcgOnGrids : public ::testing::TestWithParam<Grid3> {};

TEST_P(MultigridPcgOnGrids, AgreesWithFftPcg) {
  at::manual_seed(1);
  Grid3 const grid = GetParam();
  at::Tensor const nu = random_voxels(grid, 1);
  at::Tensor b = load_of_source(random_voxels(grid, 1), grid);
  b -= b.mean();
  for (char const* faces : {"1, 0, flux, flux, flux, flux", "flux, 2, -1, flux, flux, 0.5",
                            "flux, flux, flux, flux, flux, flux", "1, 2, 3, 4, 5, 6"}) {
    Problem const problem{grid, parse_boundary(faces)};
    auto const expected = solve_fft_pcg(problem, nu, FastPoisson(problem), tight, b);
    auto const average = solve_multigrid_pcg(problem, nu, tight, MultigridOptions{}, b);
    auto const exact = solve_multigrid_pcg(problem, nu, tight, black_box(), b);
    ASSERT_TRUE(expected.converged && average.converged && exact.converged) << faces;
    EXPECT_LT(relative_difference(average.u, expected.u), agreement) << faces;
    EXPECT_LT(relative_difference(exact.u, expected.u), agreement) << faces;
    EXPECT_LT(average.iterations, 20) << faces;
    EXPECT_LT(exact.iterations, 20) << faces;
  }
}

INSTANTIATE_TEST_SUITE_P(Grids, MultigridPcgOnGrids,
                         ::testing::Values(Grid3{{24, 16, 20}, {1.2, 0.8, 1.0}},
                                           Grid3{{37, 17, 21}, {1.85, 0.85, 1.05}},
                                           Grid3{{63, 1, 38}, {0.63, 0.01, 0.38}}));

// A cube of 1e6 in 1, and a source: K of the boundary's constant is 0, its rounding is not.
TEST(MultigridPcg, ConstantsInTheBoundaryCostNoDigits) {
  Grid3 const grid = Grid3::cube(16);
  at::Tensor nu = at::ones({1, 1, 16, 16, 16}, at::kDouble);
  nu.narrow(2, 4, 6).narrow(3, 4, 6).narrow(4, 4, 6).fill_(1e6);
  at::Tensor const b = load_of_source(0.1, grid);
  auto const solve = [&](char const* faces) {
    auto const result = solve_multigrid_pcg({grid, parse_boundary(faces)}, nu, {1e-8, 50}, {}, b);
    EXPECT_TRUE(result.converged) << faces;
    EXPECT_GT(result.iterations, 0) << faces;
    return result.u;
  };
  at::Tensor const plain = solve("0, 0, flux, flux, flux, flux");
  EXPECT_GT(plain.max().item<double>(), 0.01);
  at::Tensor const high = solve("101325, 101325, flux, flux, flux, flux");
  // Digits of u itself are what is left.
  EXPECT_LT((high - 101325.0 - plain).abs().max().item<double>(), 1e-10);
  EXPECT_EQ(high.select(2, 0).min().item<double>(), 101325.0);
  at::Tensor const apart = solve("101325, 101326, flux, flux, flux, flux");
  at::Tensor const low = solve("0, 1, flux, flux, flux, flux");
  EXPECT_LT((apart - 101325.0 - low).abs().max().item<double>(), 1e-9);
  EXPECT_EQ(apart.select(2, 16).max().item<double>(), 101326.0);
  Problem const problem{grid, parse_boundary("101325, 101325, flux, flux, flux, flux")};
  EXPECT_LT(relative_residual(problem, nu, high, b), 0.1);  // u's last digits times 1e6
}

TEST(MultigridPcg, RefusesWhatIsNotElliptic) {
  Problem const problem{Grid3::cube(4), Boundary{}};
  double const infinity = std::numeric_limits<double>::infinity();
  for (double const value : {0.0, -1.0, infinity, std::nan("")}) {
    at::Tensor const nu = at::full({1, 1, 4, 4, 4}, value, at::kDouble);
    EXPECT_THROW(static_cast<void>(solve_multigrid_pcg(problem, nu)), Error) << value;
  }
}

TEST(MultigridPcg, TakesWhatFloat32DoesNot) {
  at::manual_seed(4);
  Grid3 const grid = Grid3::cube(8);
  Problem const problem{grid, Boundary{}};
  at::Tensor const nu = random_voxels(grid, 1);
  at::Tensor const b = load_of_source(1.0, grid);
  auto const expected = solve_multigrid_pcg(problem, nu, {1e-10, 50}, {}, b);
  for (double const factor : {1e-39, 1e36, 1e-200, 1e200}) {
    auto const result = solve_multigrid_pcg(problem, nu * factor, {1e-10, 50}, {}, b * factor);
    EXPECT_TRUE(result.converged) << factor;
    EXPECT_LT(relative_difference(result.u, expected.u), agreement) << factor;
  }
  // Layers of contrast 1e9: their coarsest matrix is singular in float32.
  at::Tensor layers = at::ones({1, 1, 16, 16, 16}, at::kDouble);
  for (int k = 0; k < 16; k += 2) layers.select(2, k).fill_(1e9);
  EXPECT_TRUE(solve_multigrid_pcg({Grid3::cube(16), Boundary{}}, layers, {1e-8, 50}).converged);
}

// u is linear in the boundary's values and f together, whose residuals and squares leave the ranges
// of float32 and float64.
TEST(MultigridPcg, SolvesFieldsOfAnySize) {
  at::manual_seed(4);
  for (char const* faces : {"2, 3, flux, flux, flux, 5", "0, 0, flux, flux, 0, 0"}) {
    Problem problem{Grid3::cube(8), parse_boundary(faces)};
    at::Tensor const nu = random_voxels(problem.grid, 1);
    at::Tensor const b = load_of_source(random_voxels(problem.grid, 1), problem.grid);
    auto const expected = solve_multigrid_pcg(problem, nu, {1e-10, 50}, {}, b);
    for (double const factor : {1e-36, 1e40, 1e-200, 1e200}) {
      Problem scaled = problem;
      for (Face& face : scaled.boundary.faces) face.value *= factor;
      auto const result = solve_multigrid_pcg(scaled, nu, {1e-10, 50}, {}, b * factor);
      EXPECT_TRUE(result.converged) << faces << ' ' << factor;
      EXPECT_EQ(result.iterations, expected.iterations) << faces << ' ' << factor;
      EXPECT_LT(relative_difference(result.u / factor, expected.u), agreement) << factor;
      at::Tensor const& u = result.u;
      EXPECT_LE(relative_residual(scaled, nu, u, b * factor), 1e-9) << factor;
      Multigrid const cycle(scaled.grid, scaled.boundary, nu,
                            multigrid_options_for(scaled.grid, nu));
      auto const by_cycle = [&](at::Tensor const& r) { return cycle.cycle(r); };
      double const left = quick_error_estimate(scaled, nu, u, by_cycle, b * factor);
      EXPECT_GT(left, 0.0) << factor;
      EXPECT_LT(left, 1e-8) << factor;
    }
  }
}

TEST(MultigridPcg, SolvesBoxesOfAnySize) {
  at::manual_seed(4);
  Grid3 const grid = Grid3::cube(8);
  at::Tensor const nu = random_voxels(grid, 1);
  auto const expected = solve_multigrid_pcg({grid, Boundary{}}, nu, {1e-10, 50});
  for (double const edge : {1e-15, 1e-9, 1e9, 1e15}) {
    Grid3 const box{grid.voxels, {edge, edge, edge}};
    auto const result = solve_multigrid_pcg({box, Boundary{}}, nu, {1e-10, 50});
    EXPECT_TRUE(result.converged) << edge;
    EXPECT_LT(relative_difference(result.u, expected.u), agreement) << edge;
  }
}

TEST(MultigridPcg, EndsAtRoundingWhereTheLiftNearlySolves) {
  // The tolerance is relative to the lift's residual, which is near rounding itself.
  at::manual_seed(7);
  for (double const noise : {1e-12, 6e-8, 1e-6}) {
    at::Tensor const nu = 1.0 + noise * at::rand({1, 1, 16, 16, 16}, at::kDouble);
    Problem const problem{Grid3::cube(16), parse_boundary("1, 0, flux, flux, flux, flux")};
    auto const result = solve_multigrid_pcg(problem, nu, {1e-10, 50});
    EXPECT_TRUE(result.converged) << noise << ' ' << result.relative_residual;
    EXPECT_LT(result.iterations, 50) << noise;
  }
}

TEST(MultigridPcg, NeedsFewIterationsOnTheBenchmarkOnEveryGrid) {
  for (int n : {16, 32, 64}) {
    Problem const problem{Grid3::cube(n), Boundary{}};
    at::Tensor const nu = kl_sample(n);
    // Measured: 6 (5 with four smoothing steps); Chebyshev's coefficients off by a half cost more.
    auto const result = solve_multigrid_pcg(problem, nu, {1e-8, 7}, MultigridOptions{});
    EXPECT_TRUE(result.converged) << n;
    EXPECT_TRUE(
        solve_multigrid_pcg(problem, nu, {1e-8, 7}, MultigridOptions{2, {}, at::kFloat}).converged)
        << n;
    EXPECT_TRUE(solve_multigrid_pcg(problem, nu, {1e-8, 5}, MultigridOptions{4}).converged) << n;
    if (n == 32) {
      auto const expected = solve_fft_pcg(problem, nu, FastPoisson(problem), tight);
      auto const energy = energy_and_gradient(result.u, nu, problem.grid).energy.item<double>();
      auto const minimum = energy_and_gradient(expected.u, nu, problem.grid).energy.item<double>();
      EXPECT_NEAR(energy, minimum, 1e-12 * minimum);  // the square of the residual's order
    }
  }
}

TEST(MultigridPcg, ConvergesForHighContrast) {
  at::manual_seed(2);
  Problem const problem{Grid3::cube(32), Boundary{}};
  for (double contrast : {1e-6, 1e4}) {
    at::Tensor const nu = spheres(32, contrast);
    auto const average = solve_multigrid_pcg(problem, nu, {1e-10, 120}, MultigridOptions{});
    auto const exact = solve_multigrid_pcg(problem, nu, {1e-10, 120}, black_box());
    EXPECT_TRUE(average.converged && exact.converged) << contrast;
    // Contrast amplifies what is left in u; energies differ by the square of it.
    double const a = energy_and_gradient(average.u, nu, problem.grid).energy.item<double>();
    double const b = energy_and_gradient(exact.u, nu, problem.grid).energy.item<double>();
    EXPECT_NEAR(a, b, agreement * b);
  }
}

// nu = 1 or 1/contrast by the sign of a smooth random field.
at::Tensor two_phases(std::int64_t n, double contrast) {
  at::Tensor const s = (at::arange(n, at::kDouble) + 0.5) / static_cast<double>(n);
  at::Tensor field = at::zeros({n, n, n}, at::kDouble);
  for (int i = 0; i < 60; ++i) {
    at::Tensor const k = (at::rand({3}, at::kDouble) - 0.5) * 50.0;
    field += at::cos(s.view({n, 1, 1}) * k[0] + s.view({1, n, 1}) * k[1] + s * k[2] +
                     at::rand({1}, at::kDouble) * 6.3);
  }
  return at::where(field > 0.0, at::ones_like(field), 1.0 / contrast)
      .view({1, 1, n, n, n})
      .contiguous();
}

// Spheres that conduct, in a matrix that hardly does: nearly constant errors in each of them leave
// nearly no residual. Cycles that solve for them (MultigridOptions::deflate_bodies) hide that.
TEST(MultigridPcg, ResidualsThatTellNothingAreNotTrusted) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  at::manual_seed(29);
  Problem const problem{Grid3::cube(24), Boundary{}};
  at::Tensor const nu = spheres(24, 1e9) / 1e9;
  auto const norm = [&](at::Tensor const& e) {
    return std::sqrt(2.0 * energy_and_gradient(e, nu, problem.grid).energy.item<double>());
  };
  auto const best = solve_multigrid_pcg(problem, nu, {1e-15, 500, 0.0}, black_box());
  auto const error = [&](SolveResult const& result) {
    return norm(result.u - best.u) / norm(result.u);
  };
  auto const trusting = solve_multigrid_pcg(problem, nu, {1e-8, 500, infinity}, black_box());
  EXPECT_TRUE(trusting.converged);
  EXPECT_GT(error(trusting), 0.01);
  auto const sure = solve_multigrid_pcg(problem, nu, {1e-8, 500, 1e-3}, black_box());
  EXPECT_TRUE(sure.converged);
  EXPECT_LE(sure.error_bound, 1e-3);
  EXPECT_LE(error(sure), sure.error_bound);
  EXPECT_GT(sure.iterations, trusting.iterations);
  // Tame fields get what they asked for.
  at::Tensor const tame = kl_sample(24);
  EXPECT_EQ(solve_multigrid_pcg(problem, tame, {1e-8}).iterations,
            solve_multigrid_pcg(problem, tame, {1e-8, 500, infinity}).iterations);
}

// Without deflation 13, 26, 44, 81 iterations, and at 1e12 a wrong solution.
TEST(MultigridPcg, BodiesOfAnyContrastAreSolvedForInFewIterations) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  at::manual_seed(30);
  Problem const problem{Grid3::cube(24), Boundary{}};
  double limit = 0.0;  // energies grow with the contrast, up to that of perfect conductors
  for (double const contrast : {1e4, 1e5, 1e7, 1e9, 1e12}) {
    at::manual_seed(31);
    at::Tensor const nu = spheres(24, contrast);
    EXPECT_TRUE(multigrid_options_for(problem.grid, nu).deflate_bodies);
    auto const result = solve_multigrid_pcg(problem, nu, {1e-8, 20, infinity});
    EXPECT_TRUE(result.converged) << contrast << ' ' << result.relative_residual;
    double const energy = energy_and_gradient(result.u, nu, problem.grid).energy.item<double>();
    EXPECT_GT(energy, limit) << contrast;
    if (limit > 0.0) {
      EXPECT_LT(energy, limit * 1.01) << contrast;
    }
    limit = energy;
  }
}

TEST(MultigridPcg, BlackBoxNeedsFewIterationsOnRoughFields) {
  at::manual_seed(3);
  Problem const problem{Grid3::cube(32), Boundary{}};
  // Coarse grids of averages need 16 to 50 on such fields (voxcycle bench reference --grid 32).
  for (auto const& nu : {two_phases(32, 1e4), two_phases(32, 1e6), spheres(32, 1e4),
                         at::exp(2.0 * at::randn({1, 1, 32, 32, 32}, at::kDouble))}) {
    auto const result = solve_multigrid_pcg(problem, nu, {1e-8, 18});
    EXPECT_TRUE(result.converged) << result.relative_residual;
    EXPECT_TRUE(solve_multigrid_pcg(problem, nu, {1e-8, 18}, black_box()).converged);
  }
}

TEST(MultigridPcg, BoxesOfUnequalSpacingConverge) {
  at::manual_seed(4);
  for (Grid3 const& grid :
       {Grid3{{32, 16, 24}, {1.0, 1.0, 1.0}}, Grid3{{16, 32, 16}, {2.0, 1.0, 1.0}},
        Grid3{{16, 16, 48}, {1.0, 1.0, 1.5}}, Grid3{{17, 9, 33}, {1.0, 1.0, 1.0}}}) {
    Problem const problem{grid, parse_boundary("flux, flux, 1, 0, flux, flux")};
    at::Tensor const nu = random_voxels(grid, 1).pow_(4);
    auto const expected = solve_fft_pcg(problem, nu, FastPoisson(problem), tight);
    auto const result = solve_multigrid_pcg(problem, nu, tight);
    ASSERT_TRUE(result.converged && expected.converged) << grid.name();
    EXPECT_LT(relative_difference(result.u, expected.u), agreement) << grid.name();
  }
}

TEST(MultigridPcg, OddGridsConverge) {
  at::manual_seed(6);
  for (Grid3 const& grid :
       {Grid3::cube(17), Grid3::cube(25), Grid3{{17, 9, 33}, {1.7, 0.9, 3.3}}}) {
    at::Tensor const smooth = random_voxels(grid, 1);
    at::Tensor const jumping =
        at::where(smooth > 1.1, at::ones_like(smooth), at::full_like(smooth, 1e-2));
    at::Tensor b = load_of_source(random_voxels(grid, 1), grid);
    b -= b.mean();
    for (char const* faces :
         {"1, 0, flux, flux, flux, flux", "flux, flux, flux, flux, flux, flux"}) {
      Problem const problem{grid, parse_boundary(faces)};
      for (auto const& nu : {smooth, jumping}) {
        auto const expected = solve_fft_pcg(problem, nu, FastPoisson(problem), tight, b);
        auto const exact = solve_multigrid_pcg(problem, nu, tight, black_box(), b);
        ASSERT_TRUE(expected.converged && exact.converged) << grid.name() << ' ' << faces;
        EXPECT_LT(relative_difference(exact.u, expected.u), agreement) << grid.name();
        // Measured: 10 at most, in float64 and float32.
        for (auto dtype : {at::kDouble, at::kFloat}) {
          auto const result = solve_multigrid_pcg(problem, nu, {1e-10, 13}, black_box(dtype), b);
          EXPECT_TRUE(result.converged) << grid.name() << ' ' << faces;
        }
      }
      auto const average = solve_multigrid_pcg(problem, smooth, {1e-10, 13}, MultigridOptions{}, b);
      EXPECT_TRUE(average.converged) << grid.name() << ' ' << faces;
    }
  }
}

TEST(MultigridPcg, LargeCoarsestGridsCopeWithATopThatIsTooLow) {
  // 25^3 below 50^3, by black box: its largest eigenvalue is an estimate.
  at::manual_seed(3);
  Problem const problem{Grid3::cube(50), Boundary{}};
  for (auto const& nu : {two_phases(50, 1e2), spheres(50, 1e-6)}) {
    for (auto dtype : {at::kDouble, at::kFloat}) {
      auto const result = solve_multigrid_pcg(problem, nu, {1e-8, 18}, black_box(dtype));
      EXPECT_TRUE(result.converged) << result.iterations << ' ' << result.relative_residual;
    }
  }
}

// In layers across x u does not depend on the spacing. Where voxels are long along x, the lift's
// residual is no more than rounding of what flows along y and z cancel.
TEST(MultigridPcg, LongVoxels) {
  std::int64_t const n = 16;
  at::Tensor const nu = (1.0 + at::linspace(0.0, 0.5, n, at::kDouble))
                            .view({1, 1, n, 1, 1})
                            .expand({1, 1, n, n, n})
                            .contiguous();
  auto const solved = [&](double length) {
    Grid3 const grid{{n, n, n}, {length, 1.0, 1.0}};
    return solve_multigrid_pcg({grid, Boundary{}}, nu, {1e-8, 500}).u;
  };
  at::Tensor const expected = solved(1.0);
  for (double const length : {1e3, 1e6}) {
    EXPECT_LT(relative_difference(solved(length), expected), 1e-5) << length;
  }
}

TEST(MultigridPcg, ChoosesTheCycleByTheVoxelsEdges) {
  at::Tensor const nu = at::ones({1, 1, 4, 4, 4}, at::kFloat);
  EXPECT_EQ(multigrid_options_for(Grid3{{4, 4, 4}, {1.0, 9e3, 1.0}}, nu).dtype, at::kFloat);
  EXPECT_EQ(multigrid_options_for(Grid3{{4, 4, 4}, {1.0, 1e4, 1.0}}, nu).dtype, at::kDouble);
  EXPECT_EQ(multigrid_options_for(Grid3{{4, 4, 4}, {1.0, 1.0, 1e-4}}, nu).dtype, at::kDouble);
}

TEST(MultigridPcg, ChoosesTheCycleByTheJumpsOfNu) {
  EXPECT_EQ(multigrid_options_for(Grid3::cube(64), kl_sample(64)).coarse, CoarseOperator::average);
  EXPECT_EQ(multigrid_options_for(Grid3::cube(64), kl_sample(64)).dtype, at::kFloat);
  EXPECT_FALSE(multigrid_options_for(Grid3::cube(64), kl_sample(64)).deflate_bodies);
  at::manual_seed(5);
  EXPECT_EQ(multigrid_options_for(Grid3::cube(16), spheres(16, 1e-2)).coarse,
            CoarseOperator::black_box);
  // A single jump, across each axis, is enough.
  for (int axis = 2; axis < 5; ++axis) {
    at::Tensor nu = at::ones({1, 1, 4, 6, 8}, at::kFloat);
    nu.narrow(axis, 2, 2) *= 10.0;
    Grid3 const grid{{4, 6, 8}, {4.0, 6.0, 8.0}};
    EXPECT_EQ(multigrid_options_for(grid, nu).coarse, CoarseOperator::black_box) << axis;
  }
}

}  // namespace multigrid_pcg_test
}  // namespace voxcycle
