// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/conductivity.hpp"

#include "voxcycle/core/error.hpp"

#include <cmath>

#include "../poisson/q1_elements.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

using testing::kl_sample;
using testing::random_voxels;

// Residuals of 1e-10 leave relative errors of the flow below this on these small, tame fields.
constexpr SolveOptions tight{1e-10, 200};
constexpr double agreement = 1e-8;

TEST(Conductivity, OfLayersIsTheHarmonicAndTheArithmeticMean) {
  for (int across = 0; across < 3; ++across) {
    Grid3 grid{{8, 8, 8}, {1.0, 2.0, 0.5}};
    at::Tensor layers = at::tensor({1.0, 10.0, 100.0, 2.0, 7.0, 1.0, 1.0, 30.0}, at::kDouble);
    std::int64_t shape[5] = {1, 1, 1, 1, 1};
    shape[2 + across] = 8;
    at::Tensor const nu = layers.view(shape).expand({1, 1, 8, 8, 8}).contiguous();
    double const arithmetic = layers.mean().item<double>();
    double const harmonic = 1.0 / layers.reciprocal().mean().item<double>();
    auto const k = effective_conductivity(grid, nu, tight);
    EXPECT_TRUE(k.converged);
    for (int axis = 0; axis < 3; ++axis) {
      double const expected = axis == across ? harmonic : arithmetic;
      EXPECT_NEAR(k.value[axis] / expected, 1.0, agreement) << "layers across " << across;
    }
  }
}

// Reactions on the faces have the error of u, of some 1e-4 here, the energy its square.
TEST(Conductivity, HasTheSquareOfTheErrorOfU) {
  at::Tensor nu = at::ones({1, 1, 16, 16, 16}, at::kDouble);
  for (int k = 0; k < 16; k += 2) nu.select(2, k).fill_(1e6);
  auto const k = effective_conductivity(Grid3::cube(16), nu, {1e-8, 200});
  EXPECT_TRUE(k.converged);
  EXPECT_NEAR(k.value[0] / (2.0 / (1.0 + 1e-6)), 1.0, 1e-5);
  EXPECT_NEAR(k.value[1] / (0.5 * (1.0 + 1e6)), 1.0, 1e-9);
}

TEST(Conductivity, StoppedEarlyIsTooHighByLessThanItSays) {
  at::manual_seed(6);
  Grid3 const grid = Grid3::cube(16);
  at::Tensor const nu = at::exp(2.0 * at::randn({1, 1, 16, 16, 16}, at::kDouble));
  auto const exact = effective_conductivity(grid, nu, tight);
  auto const early = effective_conductivity(grid, nu, {1e-2, 2, 1e300});
  for (int axis = 0; axis < 3; ++axis) {
    double const excess = early.value[axis] / exact.value[axis] - 1.0;
    EXPECT_GT(excess, 1e-7);
    EXPECT_GE(early.error_bound[axis], excess);
  }
}

TEST(Conductivity, OfTheBenchmarkIsTwiceItsEnergy) {
  // 2 J(u*) at 32^3, computed by another program, as in pcg_test.
  constexpr double checked = 1.3891881303;
  auto const k = effective_conductivity(Grid3::cube(32), kl_sample(32), tight);
  for (double const value : k.value) EXPECT_NEAR(value, checked, 5e-10);
}

TEST(Conductivity, FollowsTheAxesOfTheField) {
  at::manual_seed(5);
  Grid3 const grid{{8, 4, 16}, {1.0, 0.5, 2.0}};
  at::Tensor const nu = random_voxels(grid, 1);
  auto const k = effective_conductivity(grid, nu, tight);
  // x becomes z, y becomes x, z becomes y.
  Grid3 const turned{{4, 16, 8}, {0.5, 2.0, 1.0}};
  auto const other =
      effective_conductivity(turned, nu.permute({0, 1, 3, 4, 2}).contiguous(), tight);
  EXPECT_NEAR(other.value[0], k.value[1], agreement);
  EXPECT_NEAR(other.value[1], k.value[2], agreement);
  EXPECT_NEAR(other.value[2], k.value[0], agreement);
  // Wiener's bounds.
  double const upper = nu.mean().item<double>(),
               lower = 1.0 / nu.reciprocal().mean().item<double>();
  for (double const value : k.value) {
    EXPECT_GT(value, lower);
    EXPECT_LT(value, upper);
  }
}

TEST(Conductivity, TellsThatItDidNotConverge) {
  at::manual_seed(6);
  Grid3 const grid = Grid3::cube(16);
  auto const k = effective_conductivity(grid, random_voxels(grid, 1), {1e-10, 1});
  EXPECT_FALSE(k.converged);
  EXPECT_GT(k.relative_residual[0], 1e-10);
}

}  // namespace
}  // namespace voxcycle
