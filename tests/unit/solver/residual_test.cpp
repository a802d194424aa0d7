// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/residual.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"

#include <limits>

#include "../poisson/q1_elements.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace residual_test {

using testing::dense_stiffness;
using testing::random_nodes;
using testing::random_voxels;

// Sums of a few hundred products in float64.
constexpr double rounding = 1e-12;

Grid3 const uneven{{3, 4, 5}, {1.0, 0.7, 1.9}};

at::Tensor with_boundary_values(at::Tensor u, Problem const& problem) {
  set_dirichlet_values(u, problem.grid, problem.boundary);
  return u;
}

TEST(RelativeResidual, EqualsDenseAlgebra) {
  at::manual_seed(1);
  Problem const problem{uneven, parse_boundary("flux, 2, -1, flux, flux, 0.5")};
  at::Tensor const nu = random_voxels(uneven, 1);
  at::Tensor const b = load_of_source(random_voxels(uneven, 1), uneven);
  at::Tensor const u = with_boundary_values(random_nodes(uneven, 1), problem);
  at::Tensor const free = free_node_mask(uneven, problem.boundary, at::kDouble).flatten();
  at::Tensor const matrix = dense_stiffness(nu, uneven);
  auto const norm = [&](at::Tensor const& field, at::Tensor const& load) {
    return ((load - matrix.mv(field.flatten())) * free).norm().item<double>();
  };
  at::Tensor const lifted = lift(uneven, problem.boundary, at::kDouble);
  at::Tensor const nothing = at::zeros_like(free);
  EXPECT_NEAR(relative_residual(problem, nu, u, b),
              norm(u, b.flatten()) / norm(lifted, b.flatten()), rounding);
  EXPECT_NEAR(relative_residual(problem, nu, u), norm(u, nothing) / norm(lifted, nothing),
              rounding);
  EXPECT_NEAR(relative_residual(problem, nu, lifted, b), 1.0, rounding);
}

TEST(RelativeResidual, IsThatOfASolve) {
  Problem const problem{Grid3::cube(8), Boundary{}};
  at::Tensor const nu = testing::kl_sample(8);
  auto const result =
      solve_pcg(problem, nu, [](at::Tensor const& r) { return r.clone(); }, {1e-3, 500});
  EXPECT_TRUE(result.converged);
  EXPECT_EQ(relative_residual(problem, nu, result.u), result.relative_residual);
}

TEST(RelativeResidual, WhereTheLiftSolvesNothingElseDoes) {
  // 1 - x does for uniform nu; 1/3, 1/5 and 1/7 leave rounding in every row.
  Grid3 const grid{{6, 10, 14}, {1.0, 1.0, 1.0}};
  at::Tensor const nu = at::full({1, 1, 6, 10, 14}, 0.1, at::kDouble);
  for (char const* faces : {"1, 0, flux, flux, flux, flux", "1e-200, 0, flux, flux, flux, flux",
                            "1e200, 0, flux, flux, flux, flux"}) {
    Problem const problem{grid, parse_boundary(faces)};
    at::Tensor const lifted = lift(grid, problem.boundary, at::kDouble);
    EXPECT_EQ(relative_residual(problem, nu, lifted), 0.0) << faces;
    at::Tensor const other = with_boundary_values(at::zeros_like(lifted), problem);
    EXPECT_EQ(relative_residual(problem, nu, other), std::numeric_limits<double>::infinity());
  }
}

TEST(RelativeResidual, OfTheLiftIsZeroWhereverTheBoundaryLies) {
  Grid3 const grid{{6, 10, 14}, {1.0, 1.0, 1.0}};
  at::Tensor const nu = at::full({1, 1, 6, 10, 14}, 0.1, at::kDouble);
  for (char const* faces : {"300, 301, flux, flux, flux, flux", "0.1, 0.1, 0.1, 0.1, 0.1, 0.1",
                            "101325, 101326, flux, flux, flux, flux"}) {
    Problem const problem{grid, parse_boundary(faces)};
    EXPECT_EQ(relative_residual(problem, nu, lift(grid, problem.boundary, at::kDouble)), 0.0)
        << faces;
  }
}

TEST(RelativeResidual, RefusesWrongBoundaryValues) {
  Problem const problem{uneven, Boundary{}};
  at::Tensor const nu = random_voxels(uneven, 1);
  EXPECT_THROW(relative_residual(problem, nu, random_nodes(uneven, 1)), Error);
  EXPECT_THROW(relative_residual(problem, nu, nu), Error);
}

}  // namespace residual_test
}  // namespace voxcycle
