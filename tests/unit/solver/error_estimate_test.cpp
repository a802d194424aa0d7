// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/error_estimate.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/solver/multigrid_pcg.hpp"

#include <cmath>
#include <limits>

#include "../poisson/q1_elements.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace error_estimate_test {

using testing::boundary_of;
using testing::dense_stiffness;
using testing::kl_sample;
using testing::random_nodes;
using testing::random_voxels;

// The true error comes from a dense solve or residuals of 1e-13; conditions stay below 1e9.
constexpr double solved = 1e-5;

struct Trial {
  Problem problem;
  at::Tensor nu, b, u, exact;
};

int random_int(int count) {
  return static_cast<int>(at::randint(count, {1}).item<std::int64_t>());
}

at::Tensor random_coefficient(Grid3 const& grid, double contrast) {
  auto const [nx, ny, nz] = grid.voxels;
  at::Tensor const noise = at::rand({1, 1, nx, ny, nz}, at::kDouble);
  switch (random_int(4)) {
    case 0:  // lognormal white noise
      return at::pow(contrast, noise - 0.5);
    case 1:  // two phases, voxel by voxel
      return at::where(noise < 0.5, at::ones_like(noise), contrast);
    case 2: {  // two phases in blocks of 2^3
      at::Tensor const block = at::rand({1, 1, nx / 2, ny / 2, nz / 2}, at::kDouble);
      return at::where(block < 0.3, contrast, at::ones_like(block))
          .repeat_interleave(2, 2)
          .repeat_interleave(2, 3)
          .repeat_interleave(2, 4);
    }
    default: {  // an inclusion that floats between the coarse nodes
      at::Tensor nu = at::ones({1, 1, nx, ny, nz}, at::kDouble);
      nu.narrow(2, 1 + random_int(3), 3)
          .narrow(3, 1 + random_int(3), 2)
          .narrow(4, 3, 3)
          .mul_(contrast);
      return nu;
    }
  }
}

at::Tensor dense_solution(Trial const& trial) {
  Grid3 const& grid = trial.problem.grid;
  at::Tensor const fixed =
      1.0 - free_node_mask(grid, trial.problem.boundary, at::kDouble).flatten();
  at::Tensor const matrix =
      at::where(fixed.unsqueeze(1) == 1.0, at::diag(fixed), dense_stiffness(trial.nu, grid));
  at::Tensor const values = lift(grid, trial.problem.boundary, at::kDouble).flatten();
  return at::linalg_solve(matrix, at::where(fixed == 1.0, values, trial.b.flatten()))
      .view_as(trial.b);
}

Trial random_trial(int index) {
  Grid3 const grid = index % 10 == 0  ? Grid3::cube(16)
                     : index % 3 == 0 ? Grid3{{8, 12, 8}, {1.0, 1.2, 0.7}}
                                      : Grid3::cube(8);
  Trial trial;
  trial.problem = {grid, boundary_of(1 + random_int(63))};
  for (Face& face : trial.problem.boundary.faces) face.value = random_int(3);
  trial.nu = random_coefficient(grid, std::pow(10.0, random_int(13) - 6)).contiguous();
  trial.b = load_of_source(random_voxels(grid, 1) - 1.1, grid);
  if (grid == Grid3::cube(16)) {
    auto const result =
        solve_multigrid_pcg(trial.problem, trial.nu, {1e-13, 300},
                            MultigridOptions{2, CoarseOperator::black_box, at::kDouble}, trial.b);
    EXPECT_LT(result.relative_residual, 1e-11);
    trial.exact = result.u;
  } else {
    trial.exact = dense_solution(trial);
  }
  at::Tensor const mask = free_node_mask(grid, trial.problem.boundary, at::kDouble);
  at::Tensor const lifted = lift(grid, trial.problem.boundary, at::kDouble);
  switch (random_int(3)) {
    case 0:
      trial.u = lifted;
      break;
    case 1:  // a rough error
      trial.u = at::where(mask == 1.0, trial.exact + 0.01 * random_nodes(grid, 1), lifted);
      break;
    default:  // an error in proportion, as a network's is
      trial.u = at::where(mask == 1.0, 1.02 * trial.exact, lifted);
  }
  return trial;
}

double energy_norm(at::Tensor const& e, Trial const& trial) {
  double const square =
      (e * testing::naive_stiffness(e, trial.nu, trial.problem.grid)).sum().item<double>();
  return std::sqrt(std::max(square, 0.0));  // rounding may leave a constant a negative one
}

TEST(ErrorEstimate, BoundsHoldOnARandomHundred) {
  at::manual_seed(1);
  int narrow = 0, cycles = 0;
  for (int i = 0; i < 100; ++i) {
    Trial const trial = random_trial(i);
    double const error = energy_norm(trial.u - trial.exact, trial);
    MultigridOptions options = multigrid_options_for(trial.problem.grid, trial.nu);
    if (i % 2 == 0) options.dtype = at::kDouble;
    Multigrid const multigrid(trial.problem.grid, trial.problem.boundary, trial.nu, options);
    for (int maximum : {1, 2, 30}) {
      ErrorEstimateOptions limits;
      limits.max_cycles = maximum;
      auto const found =
          estimate_error(trial.problem, trial.nu, trial.u, multigrid, limits, trial.b);
      EXPECT_LE(found.lower, error * (1.0 + solved)) << i << ", " << maximum << " cycles";
      EXPECT_GE(found.upper, error * (1.0 - solved)) << i << ", " << maximum << " cycles";
      EXPECT_LE(found.lower, found.estimate);
      EXPECT_LE(found.estimate, found.upper);
      EXPECT_NEAR(found.norm, energy_norm(trial.u + found.correction, trial),
                  solved * (found.norm + error));
      // The correction takes away just what the lower bound counts.
      double const left = energy_norm(trial.u + found.correction - trial.exact, trial);
      EXPECT_NEAR(left * left + found.lower * found.lower, error * error, solved * error * error);
      if (maximum == 30) {
        narrow += found.upper <= 1.1 * found.lower ? 1 : 0;
        cycles += found.cycles;
      }
    }
  }
  EXPECT_GT(narrow, 95);
  RecordProperty("mean_cycles", cycles / 100);
}

TEST(ErrorEstimate, AFewCyclesAreEnoughOnSmoothFields) {
  Problem const problem{Grid3::cube(32), Boundary{}};
  at::Tensor const nu = kl_sample(32);
  Multigrid const multigrid(problem.grid, problem.boundary, nu);
  ErrorEstimateOptions options;
  options.max_cycles = 3;
  auto const found = estimate_error(problem, nu, lift(problem.grid, problem.boundary, at::kDouble),
                                    multigrid, options);
  EXPECT_LE(found.upper, 1.1 * found.lower);
  // 2 J(1 - x) - 2 J(u*), as other code found them.
  double const error = std::sqrt(1.7496922732 - 1.3891881303);
  EXPECT_LE(found.lower, error);
  EXPECT_GE(found.upper, error);
  EXPECT_NEAR(found.norm, std::sqrt(1.3891881303), 1e-2);
}

TEST(ErrorEstimate, PureZeroFluxIgnoresConstants) {
  at::manual_seed(2);
  Grid3 const grid = Grid3::cube(8);
  Trial trial;
  trial.problem = {grid, boundary_of(0)};
  trial.nu = random_voxels(grid, 1);
  at::Tensor const b = load_of_source(random_voxels(grid, 1), grid);
  trial.b = b - b.mean();
  trial.exact =
      at::linalg_solve(dense_stiffness(trial.nu, grid) + 1.0, trial.b.flatten()).view_as(trial.b);
  trial.u = 0.9 * trial.exact + 5.0;
  Multigrid const multigrid(grid, trial.problem.boundary, trial.nu);
  auto const found = estimate_error(trial.problem, trial.nu, trial.u, multigrid, {}, trial.b);
  double const error = energy_norm(trial.u - trial.exact, trial);
  EXPECT_LE(found.lower, error);
  EXPECT_GE(found.upper, error);
  EXPECT_THROW(estimate_error(trial.problem, trial.nu, trial.u, multigrid, {}, b), Error);
}

TEST(ErrorEstimate, IsLinearInTheSizeOfTheProblem) {
  Grid3 const grid = Grid3::cube(8);
  at::Tensor const nu = kl_sample(8), b = load_of_source(1.0, grid);
  auto const estimate = [&](double size) {
    Problem problem{grid, parse_boundary("1, 3, flux, flux, flux, flux")};
    for (Face& face : problem.boundary.faces) face.value *= size;
    Multigrid const multigrid(grid, problem.boundary, nu);
    at::Tensor const u = lift(grid, problem.boundary, at::kDouble);
    return estimate_error(problem, nu, u, multigrid, {}, b * size);
  };
  auto const expected = estimate(1.0);
  for (double const size : {0x1p-700, 0x1p700}) {
    auto const found = estimate(size);
    EXPECT_EQ(found.lower / size, expected.lower);
    EXPECT_EQ(found.estimate / size, expected.estimate);
    EXPECT_EQ(found.upper / size, expected.upper);
    EXPECT_EQ(found.norm / size, expected.norm);
    EXPECT_TRUE(at::equal(found.correction / size, expected.correction));
  }
}

TEST(ErrorEstimate, RefusesWhatDoesNotFit) {
  Problem const problem{Grid3::cube(8), Boundary{}};
  at::Tensor const nu = kl_sample(8);
  Multigrid const multigrid(problem.grid, problem.boundary, nu);
  at::Tensor const u = lift(problem.grid, problem.boundary, at::kDouble);
  EXPECT_THROW(estimate_error(problem, nu, u + 1.0, multigrid), Error);
  EXPECT_THROW(estimate_error(problem, nu, u.to(at::kFloat), multigrid), Error);
  EXPECT_THROW(estimate_error(problem, nu, kl_sample(8), multigrid), Error);
  at::Tensor broken = u.clone();
  broken[0][0][3][3][3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(estimate_error(problem, nu, broken, multigrid), Error);
  ErrorEstimateOptions options;
  options.safety = 2.0;
  EXPECT_THROW(estimate_error(problem, nu, u, multigrid, options), Error);
}

TEST(ErrorEstimate, AnExactSolutionHasNoError) {
  Problem const problem{Grid3::cube(8), parse_boundary("1, 1, flux, flux, flux, flux")};
  at::Tensor const nu = kl_sample(8);
  Multigrid const multigrid(problem.grid, problem.boundary, nu);
  auto const found = estimate_error(problem, nu, at::ones({1, 1, 9, 9, 9}, at::kDouble), multigrid);
  EXPECT_EQ(found.upper, 0.0);
  EXPECT_EQ(found.correction.abs().max().item<double>(), 0.0);
}

}  // namespace error_estimate_test
}  // namespace voxcycle
