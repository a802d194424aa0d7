// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/conductivity.hpp"

#include "voxcycle/core/error.hpp"

#include <cmath>
#include <vector>

#include "../poisson/q1_elements.hpp"
#include "seven_point.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace conductivity_test {

using testing::kl_sample;
using testing::random_voxels;

// Of values that are exact but for the solves.
ConductivityOptions const exact_options{.tolerance = 1e-10};

at::Tensor cube_of(std::vector<double> const& layers, int across) {
  std::int64_t shape[3] = {1, 1, 1};
  auto const n = static_cast<std::int64_t>(layers.size());
  shape[across] = n;
  return at::tensor(layers, at::kDouble).view(shape).expand({n, n, n}).contiguous();
}

TEST(AxisConductivity, IsExactOnLayersBothWays) {
  std::vector<double> const layers{1.0, 10.0, 0.1, 2.0, 7.0, 1.0, 1.0, 30.0};
  at::Tensor const values = at::tensor(layers, at::kDouble);
  double const arithmetic = values.mean().item<double>();
  double const harmonic = 1.0 / values.reciprocal().mean().item<double>();
  Grid3 const grid{{8, 8, 8}, {1.0, 2.0, 0.5}};
  for (int across = 0; across < 3; ++across) {
    for (int axis = 0; axis < 3; ++axis) {
      auto const k = conductivity_along(grid, cube_of(layers, across), axis, exact_options);
      double const expected = axis == across ? harmonic : arithmetic;
      EXPECT_TRUE(k.converged && k.percolates);
      EXPECT_NEAR(k.upper / expected, 1.0, 1e-9);
      EXPECT_NEAR(k.lower / expected, 1.0, 1e-9);
    }
  }
}

// Reactions on the faces would have the error of u, of some 1e-4 here, the energy has its square.
TEST(AxisConductivity, HasTheSquareOfTheErrorOfU) {
  at::Tensor nu = at::ones({16, 16, 16}, at::kDouble);
  for (int k = 0; k < 16; k += 2) nu.select(0, k).fill_(1e6);
  auto const k = conductivity_along(Grid3::cube(16), nu, 1);
  EXPECT_TRUE(k.converged);
  EXPECT_NEAR(k.upper / (0.5 * (1.0 + 1e6)), 1.0, 1e-9);
}

TEST(AxisConductivity, OfTheBenchmarkIsTwiceItsEnergy) {
  // 2 J(u*) at 32^3, computed by another program, as in pcg_test.
  constexpr double checked = 1.3891881303;
  auto const k = conductivity_along(Grid3::cube(32), kl_sample(32), 0, exact_options);
  EXPECT_NEAR(k.upper, checked, 5e-10);
}

TEST(AxisConductivity, FollowsTheAxesOfTheField) {
  at::manual_seed(5);
  Grid3 const grid{{8, 4, 16}, {1.0, 0.5, 2.0}};
  at::Tensor const nu = random_voxels(grid, 1);
  // x becomes z, y becomes x, z becomes y.
  Grid3 const turned{{4, 16, 8}, {0.5, 2.0, 1.0}};
  at::Tensor const turned_nu = nu.permute({0, 1, 3, 4, 2}).contiguous();
  for (int axis = 0; axis < 3; ++axis) {
    auto const k = conductivity_along(grid, nu, (axis + 1) % 3, exact_options);
    auto const other = conductivity_along(turned, turned_nu, axis, exact_options);
    EXPECT_NEAR(other.upper / k.upper, 1.0, 1e-8);
    EXPECT_NEAR(other.lower / k.lower, 1.0, 1e-8);
    // Wiener's bounds.
    EXPECT_GT(k.lower, 1.0 / nu.reciprocal().mean().item<double>());
    EXPECT_LT(k.upper, nu.mean().item<double>());
  }
}

TEST(AxisConductivity, TellsThatItDidNotConverge) {
  at::manual_seed(6);
  Grid3 const grid = Grid3::cube(16);
  EXPECT_FALSE(
      conductivity_along(grid, random_voxels(grid, 1), 0, {.max_iterations = 1}).converged);
}

// Dykhne (1970): a plane checkerboard has sqrt(k1 k2). The box ends on lines of symmetry.
TEST(AxisConductivity, OfACheckerboardLiesInTheBracket) {
  for (double const other : {10.0, 1000.0}) {
    double last_width = 1e300;
    for (std::int64_t n : {8, 16, 32}) {
      at::Tensor const place = at::arange(n, at::kLong).add(n / 4).floor_divide(n / 2);
      at::Tensor const odd = place.view({n, 1, 1}).add(place.view({1, n, 1})).remainder(2);
      at::Tensor const nu =
          at::where(odd == 0, 1.0, other).to(at::kDouble).expand({n, n, 2}).contiguous();
      auto const k =
          conductivity_along(Grid3{{n, n, 2}, {1.0, 1.0, 2.0 / static_cast<double>(n)}}, nu, 0);
      EXPECT_GT(k.upper, std::sqrt(other));
      EXPECT_LT(k.lower, std::sqrt(other));
      EXPECT_LT(k.upper - k.lower, last_width);
      last_width = k.upper - k.lower;
    }
  }
}

// Voxels that touch along edges only.
TEST(AxisConductivity, OfASpaceCheckerboardOfZerosIsZero) {
  std::int64_t const n = 8;
  at::Tensor const place = at::arange(n, at::kLong);
  at::Tensor const odd = (place.view({n, 1, 1}) + place.view({1, n, 1}) + place).remainder(2);
  at::Tensor const nu = odd.to(at::kDouble).contiguous();
  auto const k = conductivity_along(Grid3::cube(n), nu, 0);
  EXPECT_FALSE(k.percolates);
  EXPECT_TRUE(k.converged);
  EXPECT_EQ(k.upper, 0.0);
  EXPECT_EQ(k.lower, 0.0);
  EXPECT_EQ(k.iterations_upper + k.iterations_lower, 0);
}

at::Tensor random_image(int kind) {
  at::Tensor const noise = at::randn({8, 8, 8}, at::kDouble);
  if (kind == 0) return at::exp(noise);
  at::Tensor const conducts = noise < (kind == 1 ? 0.0 : 0.4);
  return at::where(conducts, 1.0, kind == 1 ? 1e-2 : 0.0).to(at::kDouble);
}

at::Tensor refined(at::Tensor const& nu, std::int64_t times) {
  at::Tensor fine = nu;
  for (int axis = 0; axis < 3; ++axis) fine = fine.repeat_interleave(times, axis);
  return fine.contiguous();
}

TEST(AxisConductivity, BracketShrinksWhereVoxelsAreCut) {
  at::manual_seed(8);
  for (int kind = 0; kind < 3; ++kind) {
    at::Tensor const image = random_image(kind);
    double upper = 1e300, lower = 0.0;
    for (std::int64_t times : {1, 2, 4}) {
      auto const k = conductivity_along(Grid3::cube(8 * times), refined(image, times), kind);
      EXPECT_TRUE(k.converged && k.percolates) << "kind " << kind;
      EXPECT_LT(k.upper, upper) << "kind " << kind;
      EXPECT_GT(k.lower, lower) << "kind " << kind;
      EXPECT_LT(k.lower, k.upper) << "kind " << kind;
      EXPECT_DOUBLE_EQ(k.mean, 0.5 * (k.lower + k.upper));
      upper = k.upper;
      lower = k.lower;
    }
    EXPECT_LT(upper / lower, 2.0) << "kind " << kind;
  }
}

// The dense solution is the lumped flux', which is the worse bound of the two.
TEST(AxisConductivity, LowerBoundIsAboveFiniteVolumes) {
  at::manual_seed(9);
  Grid3 const grid{{6, 5, 7}, {1.0, 2.0, 0.7}};
  at::Tensor const nu =
      at::exp(2.0 * at::randn({6, 5, 7}, at::kDouble)) * testing::random_pores(grid, 0.8);
  for (int axis = 0; axis < 3; ++axis) {
    Boundary boundary;
    boundary.faces.fill(Face{});
    boundary.faces[2 * axis] = {FaceKind::dirichlet, 1.0};
    boundary.faces[2 * axis + 1] = {FaceKind::dirichlet, 0.0};
    auto const dense = testing::solve_seven_point(grid, boundary, nu, at::zeros_like(nu));
    double const length = grid.lengths[axis];
    double const finite_volumes = dense.into[2 * axis] * length * length / (1.0 * 2.0 * 0.7);
    auto const k = conductivity_along(grid, nu, axis, exact_options);
    EXPECT_GT(k.lower, finite_volumes * (1.0 + 1e-4));
    EXPECT_LT(k.lower, k.upper);
    // However early the solver stops.
    auto const early = conductivity_along(grid, nu, axis, {.tolerance = 0.5, .max_iterations = 2});
    EXPECT_LE(early.lower, k.upper);
    EXPECT_GE(early.upper, k.upper * (1.0 - 1e-9));
    EXPECT_LE(early.upper * (1.0 - early.upper_error), k.upper * (1.0 + 1e-9));
    EXPECT_GE(early.lower_error, 0.0);
  }
}

// Rayleigh (1892), with the coefficients of Sangani and Acrivos (1983).
double rayleigh(double fraction, double contrast) {
  double const b = (1.0 - contrast) / (2.0 + contrast);
  double const t = (1.0 - contrast) / (4.0 / 3.0 + contrast);
  double const d = -1.0 / b - fraction +
                   1.305 * t * std::pow(fraction, 10.0 / 3.0) /
                       (1.0 + 0.405 * t * std::pow(fraction, 7.0 / 3.0));
  return 1.0 + 3.0 * fraction / d;
}

TEST(AxisConductivity, OfASphereLatticeIsRayleighs) {
  std::int64_t const n = 32;
  at::Tensor const x = (at::arange(n, at::kDouble) + 0.5) / static_cast<double>(n) - 0.5;
  at::Tensor const square = x * x;
  at::Tensor const inside = square.view({n, 1, 1}) + square.view({1, n, 1}) + square < 0.35 * 0.35;
  at::Tensor const nu = at::where(inside, 10.0, 1.0).to(at::kDouble).contiguous();
  double const fraction = inside.to(at::kDouble).mean().item<double>();
  auto const k = conductivity_along(Grid3::cube(n), nu, 2);
  double const expected = rayleigh(fraction, 10.0);
  EXPECT_NEAR(k.mean / expected, 1.0, 0.01);  // edges of voxels instead of a sphere
  EXPECT_LT(k.upper / k.lower, 1.03);
}

TEST(AxisConductivity, RefusesWhatIsNone) {
  Grid3 const grid = Grid3::cube(4);
  at::Tensor const nu = at::ones({4, 4, 4}, at::kDouble);
  EXPECT_THROW((void)conductivity_along(grid, nu, 3), Error);
  EXPECT_THROW((void)conductivity_along(grid, -nu, 0), Error);
  EXPECT_THROW((void)conductivity_along(grid, nu, 0, {.tolerance = 0.0}), Error);
  EXPECT_THROW((void)conductivity_along(Grid3::cube(5), nu, 0), Error);
}

}  // namespace conductivity_test
}  // namespace voxcycle
