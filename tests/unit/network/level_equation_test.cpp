// SPDX-License-Identifier: BSD-3-Clause
#include "network/multigrid/level_equation.hpp"

#include "voxcycle/network/multigrid_network.hpp"
#include "voxcycle/poisson/nested_equation.hpp"

#include "networks.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace level_equation_test {

using testing::bare_network;
using testing::default_problem;

Grid3 const kGrid = Grid3::cube(8);
EquationOptions const kNested{.smoothing = 3, .nested = true};

NetworkOptions small_options() {
  return {.channels = {{2, 3}, {4, 3}, {8, 2}}, .norm = Norm::none, .correction_scale = 4.0};
}

std::shared_ptr<Network> nested_network() {
  return make_network(small_options(), std::make_shared<LevelProblems>(kNested));
}

/// The way up of a micro-batch's nested grids.
at::Tensor way_up(Grid3 const& grid, at::Tensor const& x, int levels) {
  LevelProblem const problem(kNested, grid, at::kFloat, at::kCPU);
  auto const nested = problem.nested(x, levels);
  at::Tensor u = nested->smooth(levels - 1, nested->coarsest());
  for (int level = levels - 2; level >= 0; --level)
    u = nested->smooth(level, nested->prolonged(level, u));
  return u;
}

TEST(LevelEquation, UntrainedNetworkIsTheWayUpOfItsNestedGrids) {
  auto const comm = make_self_communicator();
  ForwardContext const context{*comm};
  auto const network = nested_network();
  at::NoGradGuard const no_grad;
  MicroBatches const x{at::randn({2, 1, 8, 8, 8}), at::randn({0, 1, 8, 8, 8}),
                       at::randn({1, 1, 8, 8, 8})};
  MicroBatches const u = network->forward(context, kGrid, x);
  ASSERT_EQ(u.size(), 3U);
  EXPECT_TRUE(at::equal(u[0], way_up(kGrid, x[0], 3)));
  EXPECT_EQ(u[1].sizes(), (at::IntArrayRef{0, 1, 9, 9, 9}));
  EXPECT_TRUE(at::equal(u[2], way_up(kGrid, x[2], 3)));
  // A pass at a coarser grid has it as its level 0.
  at::Tensor const coarse_x = at::randn({1, 1, 4, 4, 4});
  MicroBatches const coarse = network->forward(context, Grid3::cube(4), {coarse_x});
  EXPECT_TRUE(at::equal(coarse[0], way_up(Grid3::cube(4), coarse_x, 2)));
}

TEST(LevelEquation, GridsAboveTheFinestBlockAreSmoothedAlone) {
  auto const comm = make_self_communicator();
  ForwardContext const context{.comm = *comm, .total_micro_batches = 2, .total_samples = 2};
  auto const network = nested_network();
  Grid3 const fine = Grid3::cube(32);
  at::Tensor const x = at::randn({2, 1, 32, 32, 32});
  MicroBatches const u = network->forward(context, fine, {x, at::randn({0, 1, 32, 32, 32})});
  EXPECT_TRUE(at::equal(u[0], way_up(fine, x, 5)));
  EXPECT_EQ(u[1].sizes(), (at::IntArrayRef{0, 1, 33, 33, 33}));
  // Gradients reach every block.
  torch::autograd::backward(u, {at::randn(u[0].sizes()), at::zeros_like(u[1])});
  auto const levels = network->levels(fine);
  ASSERT_EQ(levels.size(), 3U);
  for (auto const& level : levels) {
    auto const moves = [](at::Tensor const& p) {
      return p.grad().defined() && p.grad().ne(0).any().item<bool>();
    };
    EXPECT_TRUE(std::any_of(level.parameters.begin(), level.parameters.end(), moves))
        << level.level;
  }
}

TEST(LevelEquation, GradientsGoTheSameWayDown) {
  auto const comm = make_self_communicator();
  ForwardContext const context{.comm = *comm, .dtype = at::kDouble};
  LevelProblems problems(kNested);
  MicroBatches const x{at::randn({2, 1, 8, 8, 8}), at::randn({0, 1, 8, 8, 8})};
  auto const equation = equation_of(context, problems, kGrid, x, 3);
  auto const field = [](std::int64_t samples) {
    return at::randn({samples, 1, 5, 5, 5}, at::kDouble).requires_grad_();
  };
  MicroBatches const start{field(2), field(0)};
  MicroBatches const u = equation->smoothed(kGrid, equation->prolonged(kGrid, start), x);
  at::Tensor const gradient = at::randn(u[0].sizes(), at::kDouble);
  at::Tensor const found = torch::autograd::grad({u[0], u[1]}, {start[0], start[1]},
                                                 {gradient, at::zeros_like(u[1])})[0];
  auto const nested = problems.at(context, kGrid).nested(x[0], 3);
  EXPECT_TRUE(at::equal(found, nested->restricted(0, nested->transposed(0, gradient))));
}

TEST(LevelEquation, EachGridHasItsOwnWhereNothingIsNested) {
  auto const comm = make_self_communicator();
  ForwardContext const context{*comm};
  auto const network = bare_network(small_options());
  at::NoGradGuard const no_grad;
  MicroBatches const u = network->forward(context, kGrid, {at::randn({2, 1, 8, 8, 8})});
  EXPECT_TRUE(at::allclose(u[0], default_problem(kGrid).lift.expand_as(u[0]), 1e-6, 1e-6));
}

}  // namespace level_equation_test
}  // namespace voxcycle
