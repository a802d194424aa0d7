// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/multigrid_pcg.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr Face kFlux{};

/// Solves on one process and on all.
class SharedPcg : public ::testing::Test {
 protected:
  struct Both {
    SolveResult one, all;
    at::Tensor of_one;  ///< what this process owns
    at::Tensor of_all;
  };

  Problem shared(Problem problem) const {
    problem.space = std::make_shared<Space const>(part_of_processes(*comm_, problem.grid));
    return problem;
  }

  Both solve(Problem const& problem, at::Tensor const& nu, at::Tensor const& f) const {
    Problem const parts = shared(problem);
    Space const whole(problem.grid), space = parts.here();
    at::Tensor const nu_part = whole.voxels_within(space, nu);
    at::Tensor const f_part = whole.voxels_within(space, f);
    Both both{.one = solve_multigrid_pcg(problem, nu, {}, {}, load_of_source(f, problem.grid)),
              .all = solve_multigrid_pcg(parts, nu_part, {}, {},
                                         load_of_source(f_part, space.slab().part())),
              .of_one = {},
              .of_all = {}};
    both.of_one = space.own_nodes(whole.nodes_within(space, both.one.u));
    both.of_all = space.own_nodes(both.all.u);
    return both;
  }

  static at::Tensor noise(Grid3 const& grid, std::uint64_t seed) {
    at::Generator const random = at::detail::createCPUGenerator(seed);
    return at::randn(grid.voxel_shape(), random, at::kDouble);
  }

  std::unique_ptr<Communicator> comm_ = make_mpi_communicator();
};

TEST_F(SharedPcg, SmoothCoefficientsHaveTheSameBitsOnAnyNumberOfProcesses) {
  Grid3 const grid{{96, 12, 20}, {3.0, 0.5, 0.7}};
  at::Tensor const x =
      at::arange(96, at::kDouble).view({1, 1, 96, 1, 1}).expand(grid.voxel_shape());
  at::Tensor const nu = at::exp(at::sin(x * 0.1)).contiguous();
  for (auto const& boundary :
       {Boundary{}, Boundary{{kFlux, Face{FaceKind::dirichlet, -2.0}, kFlux, kFlux,
                              Face{FaceKind::dirichlet, 5.0}, kFlux}}}) {
    auto const both = solve({grid, boundary}, nu, noise(grid, 3));
    EXPECT_TRUE(both.one.converged && both.all.converged);
    EXPECT_EQ(both.all.iterations, both.one.iterations);
    EXPECT_EQ(both.all.relative_residual, both.one.relative_residual);
    EXPECT_TRUE(at::equal(both.of_all, both.of_one));
    EXPECT_NEAR(both.all.error_bound / both.one.error_bound, 1.0, 1e-9);
  }
}

TEST_F(SharedPcg, RoughCoefficientsGiveTheSameSolution) {
  Grid3 const grid{{97, 10, 16}, {1.0, 1.0, 1.0}};
  at::Tensor const nu = at::exp(noise(grid, 1) * 2.0);
  at::Tensor const f = noise(grid, 2);
  auto const both = solve({grid, {}}, nu, f);
  EXPECT_TRUE(both.all.converged);
  // With one process the bodies of large nu are solved for directly.
  EXPECT_LE(std::abs(both.all.iterations - both.one.iterations), 2);
  double const largest = both.one.u.abs().max().item<double>();
  EXPECT_LT((both.of_all - both.of_one).abs().max().item<double>(), 1e-8 * largest);
}

TEST_F(SharedPcg, ZeroFluxAllAroundHasAMeanOfZero) {
  Grid3 const grid{{64, 8, 8}, {1.0, 1.0, 1.0}};
  Boundary closed;
  closed.faces.fill(kFlux);
  at::Tensor f = noise(grid, 5);
  f = f - f.mean();
  auto const both = solve({grid, closed}, at::ones(grid.voxel_shape(), at::kDouble), f);
  EXPECT_EQ(both.all.iterations, both.one.iterations);
  EXPECT_TRUE(at::equal(both.of_all, both.of_one));
}

TEST_F(SharedPcg, RefusesZeros) {
  if (comm_->size() == 1) GTEST_SKIP() << "one process may have them";
  Problem const problem = shared({Grid3{{64, 4, 4}, {1.0, 1.0, 1.0}}, {}});
  at::Tensor nu = at::ones(problem.here().slab().part().voxel_shape(), at::kDouble);
  if (comm_->rank() == 0) nu[0][0][0][0][0] = 0.0;
  EXPECT_THAT([&] { static_cast<void>(solve_multigrid_pcg(problem, nu)); },
              ThrowsMessage<Error>(HasSubstr("share out problems of trilinear elements")));
}

}  // namespace
}  // namespace voxcycle
