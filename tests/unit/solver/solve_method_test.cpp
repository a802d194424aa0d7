// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/solver/solve_method.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/solver/fast_poisson.hpp"
#include "voxcycle/solver/model.hpp"
#include "voxcycle/solver/multigrid_pcg.hpp"
#include "voxcycle/solver/solver.hpp"

#include <cmath>
#include <functional>
#include <utility>

#include "../poisson/q1_elements.hpp"
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace solve_method_test {

using ::testing::HasSubstr;
using testing::kl_sample;
using testing::random_voxels;
using testing::relative_difference;
using ::testing::ThrowsMessage;

// Of residuals of 1e-12 on these tame problems.
constexpr double tight = 1e-12;
constexpr double agreement = 1e-9;

TEST(SolveMethod, BothFindOneSolution) {
  at::manual_seed(3);
  for (char const* const faces : {"1, 0, flux, flux, flux, flux", "0, 2, -1, flux, flux, 3"}) {
    Problem const problem{{{12, 9, 14}, {1.0, 0.8, 1.1}}, parse_boundary(faces)};
    at::Tensor const nu = random_voxels(problem.grid, 1).abs_().add_(0.1);
    at::Tensor const b = load_of_source(random_voxels(problem.grid, 1), problem.grid);
    auto const fft = solve_by(SolveMethod::fft, problem, nu, {.tolerance = tight}, b);
    auto const multigrid = solve_by(SolveMethod::multigrid, problem, nu, {.tolerance = tight}, b);
    EXPECT_TRUE(fft.converged && multigrid.converged);
    EXPECT_LT(relative_difference(fft.u, multigrid.u), agreement) << faces;
    EXPECT_TRUE(at::equal(
        fft.u, solve_fft_pcg(problem, nu, FastPoisson(problem), {.tolerance = tight}, b).u));
    EXPECT_TRUE(
        at::equal(multigrid.u, solve_multigrid_pcg(problem, nu, {.tolerance = tight}, {}, b).u));
  }
}

TEST(SolveMethod, SolverTakesEither) {
  at::Tensor const nu = kl_sample(16)[0][0];
  auto const f = std::optional(at::full({}, 3.0, at::kDouble));
  auto const by = [&](SolveMethod method, double tolerance) {
    return Solver({.method = method, .tolerance = tolerance}).solve(nu, {}, f);
  };
  auto const exact = by(SolveMethod::multigrid, tight), fft = by(SolveMethod::fft, tight);
  EXPECT_TRUE(fft.converged);
  EXPECT_LT(relative_difference(fft.u, exact.u), agreement);
  EXPECT_NEAR(fft.flows.into[0], exact.flows.into[0], agreement * std::abs(exact.flows.into[0]));
  EXPECT_GT(fft.iterations, exact.iterations);

  // Its own estimate of the energy norm is of the true error's size.
  auto const rough = by(SolveMethod::fft, 1e-4);
  auto const norm = [&](at::Tensor const& u) {
    at::Tensor const field = u.view(rough.grid.node_shape());
    return std::sqrt(energy_and_gradient(field, kl_sample(16), rough.grid).energy.item<double>());
  };
  double const error = norm(rough.u - exact.u) / norm(exact.u);
  EXPECT_GT(rough.error_estimate, 0.3 * error);
  EXPECT_LT(rough.error_estimate, 3.0 * error);
  EXPECT_LE(error, rough.error_bound);
}

TEST(SolveMethod, FftSaysWhatItLacks) {
  auto const refuses = [](char const* text, std::function<void()> const& call) {
    EXPECT_THAT(call, ThrowsMessage<Error>(HasSubstr(text))) << text;
  };
  auto const fft = SolveMethod::fft;
  at::Tensor nu = at::ones({4, 4, 4}, at::kDouble);
  refuses("not for finite volumes. Take",
          [&] { (void)Solver({.scheme = Scheme::finite_volume, .method = fft}); });
  refuses("without a network. Leave out",
          [&] { (void)Solver({.model = std::make_shared<Model>(), .method = fft}); });
  refuses("Take the solver multigrid.", [&] { (void)Solver({.method = fft}).certify(nu); });
  refuses("Set run.device = cpu, or",
          [&] { require_can_solve(fft, Scheme::q1, at::Device(at::kCUDA, 0)); });
  nu[1][2][3] = 0.0;
  refuses("not positive in every voxel", [&] { (void)Solver({.method = fft}).solve(nu); });
  EXPECT_TRUE(Solver().solve(nu).converged);
}

}  // namespace solve_method_test
}  // namespace voxcycle
