// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/network/level_problem.hpp"

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/network/network_input.hpp"
#include "voxcycle/network/predict.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/poisson/nested_equation.hpp"
#include "voxcycle/poisson/smoother.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace level_problem_test {

// Central differences of a float64 energy with steps of 1e-5.
constexpr double difference_error = 1e-7;

Grid3 const box{{4, 2, 6}, {1.0, 0.5, 1.5}};
Boundary const boundary = parse_boundary("1, 0, flux, flux, flux, 0.5");

at::Tensor voxels(Grid3 const& grid) {
  return at::rand(grid.voxel_shape(2), at::kDouble) + 0.5;
}

struct ProblemOfSource : ::testing::TestWithParam<Source> {
  LevelProblem problem_of(EquationOptions options) const {
    options.boundary = boundary;
    options.source = GetParam();
    return {options, box, at::kDouble, at::kCPU};
  }
};

TEST_P(ProblemOfSource, SmoothsTowardsTheSolutionOfItsOwnEquation) {
  at::Tensor const nu = voxels(box);
  bool const sampled = GetParam().kind == SourceKind::sampled;
  at::Tensor const f = sampled ? voxels(box) * 5.0 : at::Tensor();
  LevelProblem const problem = problem_of({.smoothing = 3});
  at::Tensor const u = problem.lift.expand({2, -1, -1, -1, -1}).contiguous();
  at::Tensor const source = sampled ? f : at::full_like(nu, GetParam().value);
  at::Tensor const expected =
      Smoother(box, free_node_mask(box, boundary, at::kDouble), nu, smoothing_steps(3))
          .smooth(u, load_of_source(source, box));
  at::Tensor const smoothed = problem.smooth(u, network_input(nu, f));
  EXPECT_LT((smoothed - expected).abs().max().item<double>(), 1e-12);
  EXPECT_GT((smoothed - u).abs().max().item<double>(), 1e-3);
}

TEST_P(ProblemOfSource, NestedGridsBeginWithItsOwnEquation) {
  at::Tensor const nu = voxels(box);
  bool const sampled = GetParam().kind == SourceKind::sampled;
  at::Tensor const f = sampled ? voxels(box) * 5.0 : at::Tensor();
  LevelProblem const problem = problem_of({.smoothing = 3, .nested = true});
  EXPECT_FALSE(problem.smooths());
  auto const nested = problem.nested(network_input(nu, f), 1);
  at::Tensor const source = sampled ? f : at::full_like(nu, GetParam().value);
  at::Tensor const load = load_of_source(source, box);
  at::Tensor const u = problem.lift.expand({2, -1, -1, -1, -1}).contiguous();
  at::Tensor const mask = free_node_mask(box, boundary, at::kDouble);
  at::Tensor const expected = Smoother(box, mask, nu, smoothing_steps(3)).smooth(u, load);
  EXPECT_LT((nested->smooth(0, u) - expected).abs().max().item<double>(), 1e-12);
  auto const of_solution = energy_and_gradient(nested->coarsest(), nu, box, load);
  EXPECT_LT((of_solution.gradient * mask).abs().max().item<double>(), 1e-12);
}

TEST_P(ProblemOfSource, BackpropagatesThroughTheSmoother) {
  at::manual_seed(3);
  bool const sampled = GetParam().kind == SourceKind::sampled;
  at::Tensor const nu = voxels(box), f = sampled ? voxels(box) : at::Tensor();
  LevelProblem const problem = problem_of({.smoothing = 4});
  at::Tensor const mask = problem.mask, lift = problem.lift;
  MicroBatches const x{network_input(nu, f)};
  auto const value_of = [&](at::Tensor const& n) {
    return smoothed(problem, {lift + mask * n}, x).front().pow(3).sum();
  };
  at::Tensor const n = at::rand(box.node_shape(2), at::kDouble);
  at::Tensor const leaf = n.clone().requires_grad_();
  value_of(leaf).backward();
  at::Tensor const direction = at::randn_like(n);
  double const step = 1e-5;
  double const gradient =
      (value_of(n + step * direction) - value_of(n - step * direction)).item<double>() /
      (2.0 * step);
  EXPECT_NEAR((leaf.grad() * direction).sum().item<double>(), gradient, difference_error * 1e3);
}

INSTANTIATE_TEST_SUITE_P(Sources, ProblemOfSource,
                         ::testing::Values(Source{}, Source{.value = 7.0},
                                           Source{.kind = SourceKind::sampled}));

TEST(LevelProblem, HasNoSmootherWithoutSteps) {
  EXPECT_FALSE(LevelProblem({.boundary = boundary}, box, at::kDouble, at::kCPU).smooths());
}

// Black box coarse grids reach the energy of a cycle, where averaged ones lose their way.
TEST(LevelProblem, NestedGridsAreCloserWhereNuJumps) {
  at::manual_seed(4);
  Grid3 const grid = Grid3::cube(16);
  at::Tensor nu = at::ones({1, 1, 16, 16, 16}, at::kDouble);
  nu.slice(2, 3, 9).slice(3, 5, 11).slice(4, 2, 8).fill_(1000.0);
  auto const comm = make_self_communicator();
  auto const energy = [&](CoarseLevels coarse) {
    NetworkOptions options;
    options.channels = {{4, 8}, {8, 8}, {16, 4}};
    options.correction_scale = 4.0;
    options.coarse = coarse;
    auto const network = make_network(options, Boundary{}, Source{});
    at::NoGradGuard const no_grad;
    ForwardContext const context{
        .comm = *comm, .training = false, .dtype = at::kDouble, .total_samples = 1};
    network->to(at::kDouble);
    at::Tensor const u = network->forward(context, grid, {network_input(nu, {})}).front();
    return energy_and_gradient(u.contiguous(), nu, grid).energy.item<double>();
  };
  at::Tensor const input = network_input(nu, {});
  LevelProblem const problem({.smoothing = 16, .nested = true}, grid, at::kDouble, at::kCPU);
  auto const three = problem.nested(input, 3);
  at::Tensor best = three->coarsest();
  for (int level = 1; level >= 0; --level)
    best = three->smooth(level, three->prolonged(level, best));
  double const minimum = energy_and_gradient(best, nu, grid).energy.item<double>();
  double const by_black_box = energy(CoarseLevels::black_box) - minimum;
  EXPECT_LT(by_black_box, 0.01 * minimum);
  EXPECT_GT(energy(CoarseLevels::averaged) - minimum, 20.0 * by_black_box);
}

TEST(LevelProblem, CorrectionsAreInUnitsOfTheSolution) {
  EXPECT_EQ(solution_size(Boundary{}, Source{}), 1.0);
  EXPECT_EQ(solution_size(parse_boundary("300, 310, flux, -5, flux, flux"), Source{}), 315.0);
  EXPECT_EQ(solution_size(parse_boundary("3, 3, flux, flux, flux, flux"), {.value = -16.0}), 2.0);
  EXPECT_EQ(solution_size(Boundary{}, {.kind = SourceKind::sampled}), 1.0);
  EXPECT_EQ(solution_size(parse_boundary("flux, flux, flux, flux, flux, flux"), Source{}), 1.0);
  Grid3 const grid = Grid3::cube(8);
  at::Tensor const nu = voxels(grid).to(at::kFloat);
  auto const comm = make_self_communicator();
  for (std::string const name : {"multigrid", "unet"}) {
    auto const solution = [&](char const* faces, double source) {
      auto const network = make_network({.name = name,
                                         .channels = {{4, 8}, {8, 8}},
                                         .correction_scale = 4.0,
                                         .coarse = CoarseLevels::averaged,
                                         .smoothing = 2,
                                         .depth = 2,
                                         .base_channels = 8},
                                        parse_boundary(faces), Source{.value = source});
      at::NoGradGuard const no_grad;
      at::manual_seed(3);
      for (auto& p : network->parameters()) p.add_(at::randn(p.sizes()) * 0.3);
      return predict(*comm, *network, grid, nu, {}, at::kFloat);
    };
    at::Tensor const u = solution("1, 0, flux, flux, flux, flux", 4.0);
    at::Tensor const large = solution("1024, 0, flux, flux, flux, flux", 4096.0);
    EXPECT_TRUE(at::equal(large, u * 1024.0)) << name;  // powers of two: the same bits
  }
}

// With all that a network does on the way to u: a large constant costs float32 no digits.
TEST(LevelProblem, IsMeasuredFromTheDatumOfTheBoundary) {
  Grid3 const grid = Grid3::cube(8);
  at::Tensor const nu = voxels(grid).to(at::kFloat);
  auto const comm = make_self_communicator();
  auto const solution = [&](char const* faces, NetworkOptions options) {
    options.channels = {{4, 8}, {8, 8}};
    options.smoothing = 4;
    auto const network = make_network(options, parse_boundary(faces), Source{.value = 3.0});
    return predict(*comm, *network, grid, nu, {}, at::kFloat);
  };
  for (auto coarse : {CoarseLevels::averaged, CoarseLevels::black_box}) {
    at::Tensor const u =
        solution("0, 1, flux, flux, flux, -2", {.correction_scale = 4.0, .coarse = coarse});
    at::Tensor const shifted =
        solution("300, 301, flux, flux, flux, 298", {.correction_scale = 4.0, .coarse = coarse});
    EXPECT_EQ(u.scalar_type(), at::kFloat);
    // Another datum is subtracted: 298, not 300. Float32 of values up to 3, not to 301.
    EXPECT_LT((shifted - 300.0 - u).abs().max().item<double>(), 3e-6);
    EXPECT_LT((shifted.select(4, 8) - 298.0).slice(2, 1, 8).abs().max().item<double>(), 1e-12);
  }
}

// The network changes its solution by smoothing, on every level.
TEST(LevelProblem, SmoothingLowersTheEnergyOfAnUntrainedNetwork) {
  Grid3 const grid = Grid3::cube(8);
  at::Tensor const nu = voxels(grid).pow(3).to(at::kFloat);
  auto const comm = make_self_communicator();
  auto const energy = [&](std::string const& name, int smoothing) {
    auto const network = make_network({.name = name,
                                       .channels = {{4, 8}, {8, 8}},
                                       .correction_scale = 4.0,
                                       .coarse = CoarseLevels::averaged,
                                       .smoothing = smoothing,
                                       .depth = 2,
                                       .base_channels = 8},
                                      Boundary{}, Source{});
    at::NoGradGuard const no_grad;
    ForwardContext const context{.comm = *comm, .training = false, .total_samples = 2};
    at::Tensor const u = network->forward(context, grid, {network_input(nu, {})}).front();
    return energy_and_gradient(u.contiguous(), nu, grid).energy.sum().item<double>();
  };
  for (std::string const name : {"multigrid", "unet"}) {
    EXPECT_LT(energy(name, 1), energy(name, 0)) << name;
    EXPECT_LT(energy(name, 4), energy(name, 1)) << name;
  }
}

}  // namespace level_problem_test
}  // namespace voxcycle
