// SPDX-License-Identifier: BSD-3-Clause
#include "network/multigrid/best_correction.hpp"

#include "voxcycle/poisson/boundary.hpp"
#include "voxcycle/poisson/energy.hpp"
#include "voxcycle/poisson/nested_equation.hpp"

#include <cmath>
#include <memory>

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

namespace voxcycle {
namespace best_correction_test {

// What the ridge on the diagonal changes.
constexpr double kRidge = 1e-5;

/// An equation of two samples on 27 nodes, two of whose faces are fixed.
struct BestCorrection : ::testing::Test {
  at::Tensor best(at::Tensor const& start, at::Tensor const& proposed) const {
    return best_correction(start, proposed, mask, equation, 0);
  }
  double raised(at::Tensor const& result, at::Tensor const& before) const {
    return (energy(result) - energy(before)).max().item<double>();
  }
  /// [n]
  at::Tensor energy(at::Tensor const& field) const {
    return energy_and_gradient(field, nu, grid, load).energy;
  }

  Grid3 const grid = Grid3::cube(2);
  Boundary const boundary = parse_boundary("1, flux, flux, flux, flux, -0.5");
  at::Tensor const mask = free_node_mask(grid, boundary, at::kDouble);
  at::Tensor const nu = [] {
    at::manual_seed(5);
    return at::rand({2, 1, 2, 2, 2}, at::kDouble) * 3.0 + 0.5;
  }();
  at::Tensor const load = at::randn({2, 1, 3, 3, 3}, at::kDouble);
  std::shared_ptr<NestedEquation const> const equation = std::make_shared<NestedEquation const>(
      grid, boundary, nu, load, NestedEquation::Options{1, smoothing_steps(1)});
  at::Tensor const u = at::randn({2, 1, 3, 3, 3}, at::kDouble);
  at::Tensor const directions = at::randn({2, 4, 3, 3, 3}, at::kDouble);
};

TEST_F(BestCorrection, NoOtherCombinationHasLessEnergy) {
  at::Tensor const found = best(u, directions);
  at::Tensor const smooth = equation->smooth(0, u);
  EXPECT_LT(raised(found, smooth), -0.01);
  EXPECT_TRUE(at::equal(found * (1 - mask), u * (1 - mask)));
  for (std::int64_t j = 0; j < 4; ++j) {
    at::Tensor const v = equation->smooth_change(0, directions.narrow(1, j, 1) * mask);
    for (double const length : {-0.02, 0.02}) EXPECT_GT(raised(found + length * v, found), 0.0);
    at::Tensor const along = (v * equation->residual(0, found)).flatten(1).sum(1);
    EXPECT_LT(along.abs().max().item<double>(), 100 * kRidge);
  }
}

TEST_F(BestCorrection, LengthsMeanNothing) {
  at::Tensor const lengths = at::tensor({1e-6, 30.0, -2.0, 1e5}, at::kDouble);
  at::Tensor const found = best(u, directions * lengths.view({1, 4, 1, 1, 1}));
  EXPECT_TRUE(at::allclose(found, best(u, directions), 1e-9, 1e-9));
}

TEST_F(BestCorrection, DirectionsThatDependOnEachOtherOrAreNothing) {
  at::Tensor const expected = best(u, directions);
  at::Tensor twice = at::cat({directions, directions, at::zeros({2, 1, 3, 3, 3}, at::kDouble)}, 1);
  twice.requires_grad_();
  at::Tensor const found = best(u, twice);
  EXPECT_TRUE(at::allclose(found, expected, 0.0, 100 * kRidge));
  found.pow(2).sum().backward();
  EXPECT_TRUE(at::isfinite(twice.grad()).all().item<bool>());
  at::Tensor const none = best(u, at::zeros({2, 3, 3, 3, 3}, at::kDouble));
  EXPECT_TRUE(at::equal(none, equation->smooth(0, u)));
}

TEST_F(BestCorrection, BackpropagatesToUAndDirections) {
  auto const value_of = [&](at::Tensor const& start, at::Tensor const& proposed) {
    return (best(start, proposed).pow(3) * mask).sum();
  };
  at::Tensor const start = u.clone().requires_grad_();
  at::Tensor const proposed = directions.clone().requires_grad_();
  value_of(start, proposed).backward();
  at::Tensor const du = at::randn_like(u) * mask, dv = at::randn_like(directions);
  double const step = 1e-5;
  auto const gradient = [&](double along_u, double along_v) {
    auto const at = [&](double sign) {
      return value_of(u + sign * step * along_u * du, directions + sign * step * along_v * dv)
          .item<double>();
    };
    return (at(1) - at(-1)) / (2 * step);
  };
  double const of_u = gradient(1, 0), of_v = gradient(0, 1);
  EXPECT_NEAR((start.grad() * du).sum().item<double>(), of_u, 1e-7 * std::abs(of_u));
  EXPECT_NEAR((proposed.grad() * dv).sum().item<double>(), of_v, 100 * kRidge * std::abs(of_v));
  EXPECT_GT(std::abs(of_v), 0.1);
}

TEST_F(BestCorrection, DirectionsKeepTheirType) {
  at::Tensor const coarse = directions.to(at::kBFloat16).requires_grad_();
  at::Tensor const found = best(u, coarse);
  EXPECT_EQ(found.scalar_type(), at::kDouble);
  EXPECT_TRUE(at::equal(found, best(u, coarse.detach().to(at::kDouble))));
  found.sum().backward();
  EXPECT_EQ(coarse.grad().scalar_type(), at::kBFloat16);
  EXPECT_EQ(coarse.grad().sizes(), directions.sizes());
}

TEST_F(BestCorrection, ValuesThatAreNotFiniteGoOn) {
  at::Tensor broken = directions.clone();
  broken[0][1][1][1][1] = std::nan("");
  at::Tensor const found = best(u, broken);
  EXPECT_FALSE(at::isfinite(found[0]).all().item<bool>());
  EXPECT_TRUE(at::allclose(found[1], best(u, directions)[1]));
}

}  // namespace best_correction_test
}  // namespace voxcycle
