// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/solver.hpp"

#include "voxcycle/config/config.hpp"
#include "voxcycle/config/load_model.hpp"
#include "voxcycle/config/model.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/instruction_set.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/train/checkpoint.hpp"

#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace solver_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Relative residuals of 1e-12 leave errors below this on these tame problems.
constexpr double tight = 1e-12;
constexpr double agreement = 1e-9;

/// Layers of 3 and 1 across x: u falls to 3/4 in the middle, and is above the lift everywhere.
at::Tensor layers(std::int64_t n) {
  at::Tensor nu = at::ones({n, n, n}, at::kDouble);
  nu.narrow(0, 0, n / 2).fill_(3.0);
  return nu;
}

at::Tensor layered_solution(std::int64_t n) {
  at::Tensor const x = at::arange(n + 1, at::kDouble) / static_cast<double>(n);
  at::Tensor const left = 1.0 - 0.5 * x, right = 1.5 * (1.0 - x);
  return at::minimum(left, right).view({n + 1, 1, 1}).expand({n + 1, n + 1, n + 1});
}

double distance(at::Tensor const& a, at::Tensor const& b) {
  return (a - b).abs().max().item<double>();
}

/// A checkpoint as training writes it. Fresh networks give the lift; the finest head adds `bias`
/// and `weight` times all features.
std::string checkpoint(std::string const& name, double bias, std::string const& key = "run.seed",
                       std::string const& value = "1", double weight = 0.0,
                       std::string const& faces = "1, 0, flux, flux, flux, flux") {
  Config config;
  config.set("network.channels", "4:4, 8:4, 16:4");
  config.set("network.correction_scale", "4");
  config.set("network.smoothing", "8");  // more would mend what the bias does
  config.set("problem.boundary", faces);
  config.set(key, value);
  auto network = make_network(network_options(config), boundary_of(config), source_of(config));
  at::NoGradGuard const no_grad;
  for (auto const& [path, parameter] : network->named_parameters()) {
    if (path.find("level4.") == std::string::npos && path.find("head") != std::string::npos) {
      parameter.fill_(path.ends_with("bias") ? bias : weight);
    }
  }
  auto const file = std::filesystem::path(VOXCYCLE_TEST_SCRATCH) / name;
  CheckpointHeader header;
  header.fingerprint = config.fingerprint();
  add_units(header.fingerprint, boundary_of(config), source_of(config));
  write_averages(file.string(), header, *network);
  return file.string();
}

TEST(Solver, WithoutAModelSolvesLayersExactly) {
  auto const s = Solver({.tolerance = tight}).solve(layers(16));
  EXPECT_TRUE(s.converged);
  EXPECT_LE(s.relative_residual, tight);
  EXPECT_LT(distance(s.u, layered_solution(16)), agreement);
  EXPECT_NEAR(s.flows.into[0], 1.5, agreement);
  EXPECT_NEAR(s.flows.imbalance(), 0.0, agreement);
  EXPECT_LT(s.error_estimate, 1e-10);
  EXPECT_FALSE(s.bounds || s.start.network_grid || s.start.from_network);
  EXPECT_EQ(s.start.relative_residual, 1.0);
  EXPECT_FALSE(s.u.requires_grad());
}

TEST(Solver, UniformMediaAreSolvedByTheLift) {
  // Rounding leaves the lift a residual that no solver can lower.
  for (char const* faces : {"flux, flux, 3, -1, flux, flux", "flux, flux, flux, flux, 0.1, 0.7"}) {
    auto const s = Solver({.boundary = parse_boundary(faces), .tolerance = 1e-14})
                       .solve(at::full({6, 10, 14}, 0.3, at::kDouble));
    EXPECT_TRUE(s.converged);
    EXPECT_EQ(s.iterations, 0);
    EXPECT_LT(s.error_estimate, 1e-13);
  }
}

TEST(Solver, TakesBoxesSourcesAndFloats) {
  // -u'' = f between two faces of value 0 a length L apart: flows of f L A / 2 into both faces,
  // out.
  Grid3 const grid{{8, 8, 16}, {1.0, 3.0, 2.0}};
  Solver const solver(
      {.boundary = parse_boundary("flux, flux, flux, flux, 0, 0"), .tolerance = tight});
  at::Tensor const nu = at::ones({8, 8, 16});
  auto const s = solver.solve(nu, grid, at::full({}, 5.0, at::kDouble));
  double const expected = -5.0 * 2.0 * 3.0 / 2.0;
  EXPECT_NEAR(s.flows.into[4], expected, agreement * 30);
  EXPECT_NEAR(s.flows.into[5], expected, agreement * 30);
  EXPECT_NEAR(s.flows.source, 30.0, agreement * 30);
  EXPECT_NEAR(s.u[0][0][8].item<double>(), 5.0 * 1.0 / 2.0, agreement);  // f L^2 / 8, nodally exact
  auto const field = solver.solve(nu, grid, at::full({8, 8, 16}, 5.0));
  EXPECT_LT(distance(field.u, s.u), agreement);
  // Cubic voxels, longest edge 1, unless told.
  EXPECT_EQ(solver.solve(nu).grid.lengths, (std::array<double, 3>{0.5, 0.5, 1.0}));
}

TEST(Solver, StartsFromTheNetworkWhereThatIsBetter) {
  auto const good = checkpoint("good.h5", 0.02);
  Solver const solver({.model = load_model(good), .tolerance = 1e-10});
  EXPECT_THAT(solver.model(), HasSubstr("multigrid, channels 4:4, 8:4, 16:4"));
  auto const s = solver.solve(layers(16));
  EXPECT_TRUE(s.converged && s.start.from_network);
  EXPECT_FALSE(s.start.rejected);
  EXPECT_LT(distance(s.u, layered_solution(16)), 1e-8);
  EXPECT_NE(s.start.relative_residual, 1.0);

  // The true error of the start lies within the certified bounds; its quick estimate is near.
  auto const certified = solver.certify(layers(16));
  at::Tensor const nu = layers(16).view({1, 1, 16, 16, 16});
  auto const norm = [&](at::Tensor const& e) {
    at::Tensor const field = e.contiguous().view({1, 1, 17, 17, 17});
    return std::sqrt(2.0 * energy_and_gradient(field, nu, s.grid).energy.item<double>());
  };
  at::Tensor const exact = layered_solution(16);
  double const error = norm(certified.u - exact) / norm(exact);
  ASSERT_TRUE(certified.bounds.has_value());
  EXPECT_GT(error, 0.01);
  EXPECT_LE(certified.bounds->lower, error * (1.0 + agreement));
  EXPECT_GE(certified.bounds->upper, error * (1.0 - agreement));
  EXPECT_LT(certified.bounds->upper, 1.5 * certified.bounds->lower);
  EXPECT_EQ(certified.iterations, 0);
  EXPECT_FALSE(certified.converged);
  EXPECT_NEAR(s.start.error_estimate, error, 0.5 * error);

  auto const bad = Solver({.model = load_model(checkpoint("bad.h5", -1.0))}).solve(layers(16));
  EXPECT_TRUE(bad.converged && bad.start.rejected);
  EXPECT_FALSE(bad.start.from_network);
  EXPECT_EQ(bad.start.relative_residual, 1.0);
}

TEST(Solver, StartsFromTheMeanOfAnEnsemble) {
  auto const one = load_model(checkpoint("one.h5", 0.01));
  auto const other = load_model(checkpoint("other.h5", 0.04));
  auto const start_of = [](Solver const& solver) { return solver.certify(layers(16)); };
  at::Tensor const a = start_of(Solver({.model = one})).u;
  at::Tensor const b = start_of(Solver({.model = other})).u;
  EXPECT_GT(distance(a, b), 1e-3);
  Solver const solver({.model = one, .more_members = {other}, .tolerance = 1e-10});
  EXPECT_THAT(solver.model(), HasSubstr("mean of 2"));
  auto const s = start_of(solver);
  EXPECT_LT(distance(s.u, (a + b) / 2.0), tight);
  at::Tensor const deviation = (a - b).abs() / std::sqrt(2.0);
  EXPECT_LT(distance(s.start.deviation, deviation), tight);
  EXPECT_NEAR(s.start.spread.value_or(0.0), (deviation.norm() / s.u.norm()).item<double>(), tight);
  auto const solved = solver.solve(layers(16));
  EXPECT_TRUE(solved.converged && solved.start.from_network);
  EXPECT_LT(distance(solved.u, layered_solution(16)), 1e-8);
  EXPECT_FALSE(start_of(Solver({.model = one})).start.spread);

  auto const third = load_model(
      checkpoint("third.h5", 0.01, "run.seed", "1", 0.0, "2, 0, flux, flux, flux, flux"));
  EXPECT_THAT(
      [&] {
        Solver({.model = one, .more_members = {other, third}});
      },
      ThrowsMessage<Error>(HasSubstr("third.h5 was trained for the boundary '2, 0,")));
}

TEST(Solver, UnitsOfTheCoefficientDoNotMatterToTheNetwork) {
  at::Tensor const nu = layers(16) + 0.25 * at::rand({16, 16, 16}, at::kDouble);
  at::Tensor const f = at::rand({16, 16, 16}, at::kDouble);
  Solver const plain({.model = load_model(checkpoint("units.h5", 0.01, "run.seed", "1", 1e-3))});
  Solver const sampled(
      {.model = load_model(checkpoint("f.h5", 0.01, "problem.source", "sampled", 1e-3))});
  std::vector<double> without_f, with_f;
  for (double const unit : {std::exp2(-150), std::exp2(40), std::exp2(7)}) {
    auto const s = plain.solve(nu * unit);
    auto const of_f = sampled.solve(nu * unit, {}, f * unit);
    EXPECT_TRUE(s.start.from_network && of_f.start.from_network) << unit;
    without_f.push_back(s.start.relative_residual);
    with_f.push_back(of_f.start.relative_residual);
  }
  for (std::size_t k : {1, 2}) {
    EXPECT_EQ(without_f[k], without_f[0]);
    EXPECT_EQ(with_f[k], with_f[0]);
  }
}

TEST(Solver, GoesOnWithoutANetworkThatCannotCompute) {
  // With a source of one value beside the boundary's, nu has a unit; float32 has no such values.
  Solver const solver({.model = load_model(checkpoint("small.h5", 0.01, "problem.source", "8"))});
  auto const s = solver.solve(layers(16) * 1e-60, {}, at::full({}, 8.0, at::kDouble));
  EXPECT_TRUE(s.converged && s.start.rejected && s.start.failed);
  EXPECT_FALSE(s.start.from_network);
}

TEST(Solver, RunsTheNetworkOnTheFinestGridThatItFits) {
  auto const model = checkpoint("levels.h5", 0.02);
  Solver const solver({.model = load_model(model)});
  auto const fine = solver.solve(layers(32));  // above the finest block
  EXPECT_TRUE(fine.start.from_network);
  EXPECT_EQ(fine.start.network_grid->name(), "32x32x32");
  EXPECT_LT(distance(fine.u, layered_solution(32)), 1e-6);
  Solver const rough({.model = load_model(checkpoint("rough.h5", 0.02, "network.smoothing", "0"))});
  auto const interpolated = rough.solve(layers(32));  // nothing above the finest block
  EXPECT_EQ(interpolated.start.network_grid->name(), "16x16x16");
  EXPECT_TRUE(interpolated.start.from_network);
  EXPECT_LT(distance(interpolated.u, layered_solution(32)), 1e-6);
  auto const flat = rough.solve(at::full({32, 16, 16}, 2.0));
  EXPECT_EQ(flat.start.network_grid->name(), "16x8x8");
  EXPECT_THAT(
      [&] {
        static_cast<void>(solver.solve(at::ones({20, 20, 20})));
      },
      ThrowsMessage<Error>(AllOf(HasSubstr(model), HasSubstr("20^3"))));
}

TEST(Solver, RunsTheNetworkInThePrecisionOfItsTraining) {
  auto const usual = [](char const* trained) {
    auto const model = checkpoint("precision.h5", 0.02, "train.precision", trained);
    return Solver({.model = load_model(model)}).solve(layers(16)).start.precision;
  };
  EXPECT_EQ(usual("f32"), at::kFloat);
  EXPECT_EQ(usual("f64"), at::kFloat);
  EXPECT_EQ(usual("bf16"), has_bfloat16() ? at::kBFloat16 : at::kFloat);

  auto const model = checkpoint("precision.h5", 0.02);
  auto const start = [&](at::ScalarType precision) {
    return Solver({.model = load_model(model), .precision = precision}).certify(layers(16));
  };
  auto const rounded = start(at::kBFloat16), single = start(at::kFloat);
  EXPECT_EQ(rounded.start.precision, at::kBFloat16);
  EXPECT_EQ(single.start.precision, at::kFloat);
  EXPECT_FALSE(at::equal(rounded.u, single.u));
  EXPECT_LT(distance(rounded.u, single.u), 0.02 / 128);  // what it adds, rounded to eight bits
  EXPECT_THAT([&] { static_cast<void>(start(at::kDouble)); },
              ThrowsMessage<Error>(HasSubstr("not in f64")));
}

TEST(Solver, SizeOfTheSourceDoesNotMatterToTheNetwork) {
  // u - 3 is linear in f.
  char const* const faces = "3, flux, 3, flux, flux, 3";
  at::Tensor const nu = layers(16) + 0.25 * at::rand({16, 16, 16}, at::kDouble);
  at::Tensor const f = at::rand({16, 16, 16}, at::kDouble);
  auto const solver = [&](char const* source) {
    return Solver({.model = load_model(checkpoint(std::string("size") + source + ".h5", 1e-3,
                                                  "problem.source", source, 1e-4, faces))});
  };
  Solver const sampled = solver("sampled"), constant = solver("8");
  std::vector<double> of_fields, of_numbers;
  for (double const size : {std::exp2(-12), std::exp2(2), std::exp2(9)}) {
    auto const field = sampled.solve(nu, {}, f * size);
    auto const number = constant.solve(nu * size, {}, at::full({}, 5.0, at::kDouble));
    EXPECT_TRUE(field.start.from_network && number.start.from_network) << size;
    EXPECT_TRUE(field.converged && number.converged) << size;
    of_fields.push_back(field.start.relative_residual);
    of_numbers.push_back(number.start.relative_residual);
  }
  for (std::size_t k : {1, 2}) {
    EXPECT_NEAR(of_fields[k], of_fields[0], 1e-9);
    EXPECT_NEAR(of_numbers[k], of_numbers[0], 1e-9);
  }
  EXPECT_THROW(static_cast<void>(constant.solve(nu, {}, f)), Error);
}

TEST(Solver, ModelsKnowWhatTheyWereTrainedFor) {
  auto const model = checkpoint("trained.h5", 0.0);
  EXPECT_THAT(
      [&] {
        Solver({.model = load_model(model),
                .boundary = parse_boundary("2, 0, flux, flux, flux, "
                                           "flux")});
      },
      ThrowsMessage<Error>(AllOf(HasSubstr(model), HasSubstr("'2, 0, flux"))));
  Solver const solver({.model = load_model(model)});
  EXPECT_THAT([&] { static_cast<void>(solver.solve(layers(8), {}, at::full({}, 1.0))); },
              ThrowsMessage<Error>(AllOf(HasSubstr("f = 0"), HasSubstr("another"))));
  // Lengths count in units of the longest edge: f = 4 on the unit box is f = 1 on one twice as
  // long.
  Solver const constant(
      {.model = load_model(checkpoint("constant.h5", 0.1, "problem.source", "4"))});
  Grid3 const box{{8, 8, 8}, {2.0, 2.0, 2.0}};
  EXPECT_TRUE(constant.solve(layers(8), box, at::full({}, 1.0, at::kDouble)).converged);
  EXPECT_THROW(static_cast<void>(constant.solve(layers(8), {}, at::full({}, 1.0))), Error);
  Solver const sampled(
      {.model = load_model(checkpoint("sampled.h5", 0.1, "problem.source", "sampled"))});
  EXPECT_TRUE(sampled.solve(layers(8), {}, at::rand({8, 8, 8})).converged);
  EXPECT_TRUE(sampled.solve(layers(8), {}, at::full({}, 3.0)).converged);

  // Values that float32 does not hold, also on edges that two faces share. One of the two networks
  // goes the right way and is used.
  bool used = false;
  for (double const bias : {1e-3, -1e-3}) {
    Solver const fractions({.model = load_model(checkpoint("fractions.h5", bias, "problem.boundary",
                                                           "0.1, 0.7, flux, 0.3, flux, 0"))});
    auto const s = fractions.certify(layers(8));
    used = used || s.start.from_network;
    EXPECT_TRUE(at::equal(s.u[0], at::full({9, 9}, 0.1, at::kDouble)));
    EXPECT_TRUE(at::equal(s.u[8], at::full({9, 9}, 0.7, at::kDouble)));
    EXPECT_TRUE(fractions.solve(layers(8)).converged);
  }
  EXPECT_TRUE(used);

  EXPECT_THAT([] { Solver({.model = load_model("none.h5")}); },
              ThrowsMessage<Error>(HasSubstr("none.h5 does not exist")));
}

TEST(Solver, SaysThatItDidNotConverge) {
  at::manual_seed(2);
  auto const s =
      Solver({.tolerance = 1e-10, .max_iterations = 2}).solve(at::rand({16, 16, 16}) + 0.1);
  EXPECT_FALSE(s.converged);
  EXPECT_EQ(s.iterations, 2);
  EXPECT_GT(s.relative_residual, 1e-10);
  EXPECT_GT(s.error_estimate, 0.0);
}

TEST(Solver, LooseTolerancesStopBeforeTheUsualErrorIsProven) {
  at::manual_seed(3);
  at::Tensor const nu = at::exp(at::randn({16, 16, 16}));
  auto const usual = Solver({.tolerance = 1e-4}).solve(nu);
  auto const loose = Solver({.tolerance = 0.1}).solve(nu);
  EXPECT_LE(usual.error_bound, 1e-4);
  EXPECT_LE(loose.error_bound, 0.1);
  EXPECT_GT(loose.error_bound, 1e-4);
  EXPECT_LT(loose.iterations, usual.iterations);
}

TEST(Solver, ThreadsMayShareOne) {
  Solver const solver({.model = load_model(checkpoint("shared.h5", 0.02))});
  at::Tensor const alone = solver.certify(layers(16)).u;  // the network's
  std::vector<std::thread> threads;
  std::vector<at::Tensor> solutions(4);
  for (auto& u : solutions) {
    threads.emplace_back([&] {
      for (int k = 0; k < 3; ++k) u = solver.certify(layers(16)).u;
    });
  }
  for (auto& thread : threads) thread.join();
  for (auto const& u : solutions) EXPECT_TRUE(at::equal(u, alone));
}

TEST(Solver, RefusesWhatDoesNotFit) {
  Solver const solver;
  auto const refuse = [&](at::Tensor const& nu, std::string const& text,
                          std::optional<Grid3> const& grid = {},
                          std::optional<at::Tensor> const& f = {}) {
    EXPECT_THAT([&] { static_cast<void>(solver.solve(nu, grid, f)); },
                ThrowsMessage<Error>(HasSubstr(text)));
  };
  at::Tensor const nu = at::ones({4, 4, 4});
  refuse(at::ones({1, 1, 4, 4, 4}), "[nx, ny, nz]");
  refuse(nu.to(at::kInt), "float32 or float64");
  refuse(nu, "[8, 8, 8]", Grid3::cube(8));
  refuse(nu, "f has shape", {}, at::ones({4, 4, 2}));
  refuse(nu, "the source is nan", {},
         at::full({}, std::numeric_limits<double>::quiet_NaN(), at::kDouble));
  at::Tensor bad = nu.clone();
  bad[1][2][3] = -1.0;
  refuse(bad, "1 negative, of 64; the first at (x, y, z) = (1, 2, 3)");
  bad.fill_(std::numeric_limits<double>::infinity());
  refuse(nu, "64 infinite", {}, bad);
  for (double const tolerance : {0.0, 1e-15, 1.0, -1.0}) {
    EXPECT_THAT([&] { Solver({.tolerance = tolerance}); },
                ThrowsMessage<Error>(HasSubstr("rounding")));
  }
  EXPECT_THROW(Solver({.max_iterations = 0}), Error);
  EXPECT_THROW(Solver({.device = at::kMeta}), Error);
  Boundary endless;
  endless.faces[0].value = std::numeric_limits<double>::infinity();
  EXPECT_THROW(Solver({.boundary = endless}), Error);
  Solver const free({.boundary = parse_boundary("flux, flux, flux, flux, flux, flux")});
  EXPECT_THAT([&] { static_cast<void>(free.solve(nu, {}, at::full({}, 1.0))); },
              ThrowsMessage<Error>(HasSubstr("no solution")));
}

}  // namespace solver_test
}  // namespace voxcycle
