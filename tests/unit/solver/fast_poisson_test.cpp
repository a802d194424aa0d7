// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/fast_poisson.hpp"

#include "voxcycle/core/error.hpp"

#include <thread>
#include <vector>

#include "../poisson/q1_elements.hpp"
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace fast_poisson_test {

using testing::boundary_of;
using testing::dense_stiffness;
using testing::random_nodes;
using testing::relative_difference;

// Transforms of a few values and a dense solve of condition number below 1e3, in float64.
constexpr double rounding = 1e-12;

at::Tensor dense_solve(Problem const& problem, at::Tensor const& r) {
  Grid3 const& grid = problem.grid;
  at::Tensor matrix = dense_stiffness(at::ones(grid.voxel_shape(), at::kDouble), grid);
  if (!problem.boundary.has_dirichlet()) {
    matrix += 1.0;  // fixes the mean to zero when r sums to zero
  }
  at::Tensor const free =
      free_node_mask(grid, problem.boundary, at::kDouble).flatten().nonzero().flatten();
  at::Tensor const inner = matrix.index_select(0, free).index_select(1, free);
  at::Tensor z = at::zeros_like(r).flatten();
  z.index_copy_(0, free, at::linalg_solve(inner, r.flatten().index_select(0, free)));
  return z.view_as(r);
}

class FastPoissonOnFaces : public ::testing::TestWithParam<int> {};

TEST_P(FastPoissonOnFaces, EqualsDenseSolve) {
  at::manual_seed(GetParam());
  for (Grid3 const& grid : {Grid3{{3, 4, 5}, {1.0, 0.7, 1.9}}, Grid3{{6, 2, 3}, {0.5, 1.0, 1.0}},
                            Grid3{{1, 2, 1}, {1.0, 1.0, 1.0}}}) {
    Problem const problem{grid, boundary_of(GetParam())};
    at::Tensor r = random_nodes(grid, 1) * free_node_mask(grid, problem.boundary, at::kDouble);
    if (!problem.boundary.has_dirichlet()) {
      r -= r.mean();
    }
    at::Tensor const z = FastPoisson(problem).solve(r);
    at::Tensor const expected = dense_solve(problem, r);
    if (r.abs().max().item<double>() == 0.0) {  // no free node
      EXPECT_EQ(z.abs().max().item<double>(), 0.0);
    } else {
      EXPECT_LT(relative_difference(z, expected), rounding) << grid.name();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllMixesOfFaces, FastPoissonOnFaces, ::testing::Range(0, 64));

TEST(FastPoisson, IgnoresTheMeanOfAPureZeroFluxLoad) {
  Problem const problem{{{4, 5, 6}, {1.0, 1.0, 1.0}}, boundary_of(0)};
  at::Tensor r = random_nodes(problem.grid, 1);
  r -= r.mean();
  FastPoisson const fast(problem);
  at::Tensor const z = fast.solve(r);
  EXPECT_LT(std::abs(z.mean().item<double>()), rounding);
  EXPECT_LT(relative_difference(fast.solve(r + 3.0), z), rounding);
}

TEST(FastPoisson, SameBitsFromManyCallersAndThreads) {
  Problem const problem{{{24, 17, 20}, {1.0, 1.0, 1.0}}, Boundary{}};
  at::Tensor const r =
      random_nodes(problem.grid, 1) * free_node_mask(problem.grid, problem.boundary, at::kDouble);
  FastPoisson const fast(problem);
  int const before = at::get_num_threads();
  at::set_num_threads(1);
  at::Tensor const alone = fast.solve(r);
  at::set_num_threads(2);
  EXPECT_TRUE(at::equal(fast.solve(r), alone));
  std::vector<at::Tensor> results(4);
  {
    std::vector<std::jthread> callers;
    for (at::Tensor& result : results) {
      callers.emplace_back([&] {
        for (int repeat = 0; repeat < 5; ++repeat) {
          result = FastPoisson(problem).solve(fast.solve(r));
          result = fast.solve(r);
        }
      });
    }
  }
  for (at::Tensor const& result : results) {
    EXPECT_TRUE(at::equal(result, alone));
  }
  at::set_num_threads(before);
}

TEST(FastPoisson, RefusesFieldsThatDoNotFit) {
  FastPoisson const fast({Grid3::cube(4), Boundary{}});
  EXPECT_THROW(fast.solve(at::zeros({1, 1, 4, 4, 4}, at::kDouble)), Error);
  EXPECT_THROW(fast.solve(at::zeros({1, 1, 5, 5, 5}, at::kFloat)), Error);
}

}  // namespace fast_poisson_test
}  // namespace voxcycle
