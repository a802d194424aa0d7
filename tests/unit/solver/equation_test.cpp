// SPDX-License-Identifier: BSD-3-Clause
// Equations of both schemes, and what zeros of nu leave of them.
#include "solver/equation.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/solver/multigrid_pcg.hpp"

#include <cmath>
#include <limits>

#include "../poisson/q1_elements.hpp"
#include "seven_point.hpp"
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace equation_test {

using ::testing::HasSubstr;
using testing::random_pores;
using testing::solve_seven_point;
using ::testing::ThrowsMessage;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// Residuals of 1e-12 leave errors below this on these small problems.
constexpr double tight = 1e-12;
constexpr double agreement = 1e-9;

char const* const boundaries[] = {"1, 0, flux, flux, flux, flux", "flux, 3, flux, flux, -1, flux",
                                  "1, 2, 3, 4, 5, 6", "flux, flux, flux, 0, flux, flux"};

/// Largest difference where both are numbers; infinity where one is and the other is not.
double distance(at::Tensor const& a, at::Tensor const& b) {
  if (!at::equal(a.isnan(), b.isnan())) return std::numeric_limits<double>::infinity();
  return (a - b).nan_to_num(0.0).abs().max().item<double>();
}

TEST(FiniteVolumeEquation, IsTheSevenPointMatrix) {
  at::manual_seed(1);
  for (double const share : {1.0, 0.85, 0.6}) {
    for (auto const* const text : boundaries) {
      Grid3 const grid{{9, 6, 7}, {1.0, 0.5, 2.0}};
      at::Tensor const nu = at::exp(at::randn({9, 6, 7}, at::kDouble)) * random_pores(grid, share);
      Boundary const boundary = parse_boundary(text);
      Solver const solver(
          {.boundary = boundary, .scheme = Scheme::finite_volume, .tolerance = tight});
      auto const s = solver.solve(nu, grid);
      auto const dense = solve_seven_point(grid, boundary, nu, at::zeros_like(nu));
      EXPECT_TRUE(s.converged) << text;
      EXPECT_LT(distance(s.u, dense.u), agreement) << text << ", share " << share;
      for (std::size_t face = 0; face < 6; ++face) {
        EXPECT_NEAR(s.flows.into[face], dense.into[face], 1e-8) << text;
      }
    }
  }
}

TEST(FiniteVolumeEquation, HasSources) {
  at::manual_seed(2);
  Grid3 const grid{{8, 5, 6}, {1.0, 1.0, 1.0}};
  at::Tensor const f = at::randn({8, 5, 6}, at::kDouble);
  at::Tensor const nu = at::exp(at::randn({8, 5, 6}, at::kDouble));
  Boundary const boundary = parse_boundary(boundaries[1]);
  Solver const solver({.boundary = boundary, .scheme = Scheme::finite_volume, .tolerance = tight});
  EXPECT_LT(distance(solver.solve(nu, grid, f).u, solve_seven_point(grid, boundary, nu, f).u),
            agreement);
  auto const s = solver.solve(nu, grid, at::full({}, 2.0, at::kDouble));
  EXPECT_LT(distance(s.u, solve_seven_point(grid, boundary, nu, at::full_like(f, 2.0)).u),
            agreement);
  EXPECT_NEAR(s.flows.source, 2.0, agreement);
  EXPECT_NEAR(s.flows.imbalance(), 0.0, 1e-8);
}

/// Q1 with zeros by a dense matrix: nodes of no conductor are left out, and bodies that share no
/// node with what touches a Dirichlet face.
at::Tensor dense_q1(Grid3 const& grid, Boundary const& boundary, at::Tensor const& nu) {
  at::Tensor matrix = testing::dense_stiffness(nu, grid);
  at::Tensor const lifted = lift(grid, boundary, at::TensorOptions(at::kDouble)).flatten();
  at::Tensor const fixed =
      free_node_mask(grid, boundary, at::TensorOptions(at::kDouble)).flatten() == 0.0;
  at::Tensor reached = fixed.logical_and(matrix.diagonal() > 0.0);
  at::Tensor const joined = (matrix.abs() > 1e-14).to(at::kDouble);
  for (bool more = true; more;) {
    at::Tensor const next = at::mv(joined, reached.to(at::kDouble)) > 0.0;
    more = !at::equal(next, reached);
    reached = next;
  }
  at::Tensor const free = reached.logical_and(fixed.logical_not());
  at::Tensor const rows = free.nonzero().flatten();
  at::Tensor const b = -at::matmul(matrix, at::where(fixed, lifted, 0.0)).index_select(0, rows);
  at::Tensor const inner = matrix.index_select(0, rows).index_select(1, rows);
  at::Tensor u = at::where(reached, lifted, nan);
  u.index_copy_(0, rows, at::linalg_solve(inner, b));
  return u.view({grid.nodes(0), grid.nodes(1), grid.nodes(2)});
}

TEST(Equation, OfTrilinearElementsLeavesOutZeros) {
  at::manual_seed(3);
  for (double const share : {0.7, 0.25}) {
    for (auto const* const text : boundaries) {
      Grid3 const grid{{6, 8, 5}, {1.0, 1.0, 1.0}};
      at::Tensor const nu = at::exp(at::randn({6, 8, 5}, at::kDouble)) * random_pores(grid, share);
      Boundary const boundary = parse_boundary(text);
      Solver const solver({.boundary = boundary, .tolerance = tight});
      auto const s = solver.solve(nu, grid);
      EXPECT_TRUE(s.converged) << text;
      EXPECT_LT(distance(s.u, dense_q1(grid, boundary, nu)), agreement)
          << text << ", share " << share;
      EXPECT_GT(s.empty.voxels, 0);
    }
  }
}

// Of what a few iterations leave, in a problem with zeros (which a spectrum says nothing of).
TEST(Equation, BoundsErrorsWhereNuIsZero) {
  at::manual_seed(4);
  Grid3 const grid{{12, 10, 11}, {1.0, 1.0, 1.0}};
  at::Tensor const nu = (random_pores(grid, 0.7) * at::exp(at::randn({12, 10, 11}, at::kDouble)))
                            .view(grid.voxel_shape());
  for (Scheme const scheme : {Scheme::q1, Scheme::finite_volume}) {
    Problem const problem{grid, Boundary{}, scheme};
    at::Tensor const couplings = finite_volume_couplings(grid, Boundary{}, nu);
    auto const norm = [&](at::Tensor const& v) {
      at::Tensor const product = scheme == Scheme::q1
                                     ? apply_stiffness(v, nu, grid)
                                     : apply_couplings(problem.unknowns(), couplings, v);
      return std::sqrt((v * product).sum().item<double>());
    };
    auto const exact = solve_multigrid_pcg(problem, nu, {1e-14, 500});
    for (int iterations : {1, 3, 6}) {
      auto const early = solve_multigrid_pcg(problem, nu, {1e-14, iterations});
      double const error = norm(early.u - exact.u) / norm(exact.u);
      EXPECT_GE(early.error_bound, error);
      if (error < 1e-2) {
        EXPECT_LE(early.error_bound, 300.0 * error);
      }
    }
    EXPECT_LT(exact.error_bound, 1e-8);
  }
}

TEST(Equation, CountsWhatItLeavesOut) {
  at::Tensor nu = at::zeros({6, 6, 6}, at::kDouble);
  nu.narrow(1, 0, 2).fill_(1.0);    // along x
  nu[3][4][4] = nu[3][4][5] = 1.0;  // afloat
  auto const s = Solver({.fill = -7.0}).solve(nu);
  EXPECT_EQ(s.empty.voxels, 216 - 72 - 2);
  EXPECT_EQ(s.empty.dropped_voxels, 2);
  EXPECT_EQ(s.empty.dropped_bodies, 1);
  EXPECT_NEAR(s.u[3][1][3].item<double>(), 0.5, 1e-7);
  EXPECT_EQ(s.u[3][4][5].item<double>(), -7.0);
  EXPECT_NEAR(s.flows.into[0], 2.0 / 6.0, 1e-7);
}

TEST(Equation, SourcesActWhereNuIsPositive) {
  at::Tensor nu = at::ones({4, 4, 4}, at::kDouble);
  nu.select(0, 2).zero_();
  for (Scheme const scheme : {Scheme::q1, Scheme::finite_volume}) {
    auto const s = Solver({.scheme = scheme}).solve(nu, {}, at::full({}, 1.0, at::kDouble));
    EXPECT_NEAR(s.flows.source, 0.75, 1e-12);
    EXPECT_NEAR(s.flows.imbalance(), 0.0, 1e-6);
  }
  nu.select(0, 1).zero_();
  nu.select(0, 3).zero_();
  nu[2][1][1] = 1.0;
  EXPECT_THAT([&] { (void)Solver().solve(nu, {}, at::full({}, 1.0, at::kDouble)); },
              ThrowsMessage<Error>(HasSubstr("touches no Dirichlet face")));
}

TEST(Equation, RefusesFieldsWithoutAConductor) {
  at::Tensor nu = at::zeros({4, 4, 4}, at::kDouble);
  EXPECT_THAT([&] { (void)Solver().solve(nu); },
              ThrowsMessage<Error>(HasSubstr("nu is 0 everywhere")));
  nu[1][1][1] = 1.0;
  EXPECT_THAT([&] { (void)Solver().solve(nu); },
              ThrowsMessage<Error>(HasSubstr("bodies that touch no Dirichlet face")));
  nu[1][1][1] = -1.0;
  EXPECT_THAT([&] { (void)Solver().solve(nu); },
              ThrowsMessage<Error>(HasSubstr("negative or not finite")));
}

}  // namespace equation_test
}  // namespace voxcycle
