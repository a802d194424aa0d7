// SPDX-License-Identifier: BSD-3-Clause
#include <numbers>

#include "loss_fields.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

using testing::LossFields;

constexpr double kRounding = 1e-12;  // float64

TEST(EnergyLoss, TheLiftHasNormalisedEnergyOne) {
  LossFields f({Grid3::cube(4), {}});
  f.in.u = f.lifted.expand({2, 1, 5, 5, 5}).contiguous();
  auto const terms = make_loss("energy_normalised", f.problem)->evaluate(f.in);
  EXPECT_TRUE(at::allclose(terms.values, at::ones({2}, at::kDouble), kRounding, kRounding));
  // For the default boundary the scale is half the mean of nu.
  auto const plain = make_loss("energy", f.problem)->evaluate(f.in);
  EXPECT_TRUE(at::allclose(plain.values, f.in.nu.flatten(1).mean(1) / 2, kRounding, kRounding));
}

TEST(EnergyLoss, ASourceAloneReleasesFourFifthsOfItsScale) {
  // Between two faces of value 0 and at constant nu and f, u = f/(2 nu) x (L - x) at the nodes, too
  // (in one dimension Q1 solutions are exact there). Its energy -b^T u/2 is a trapezoidal sum:
  // -f^2 V L^2 (1 - 1/n^2) / (24 nu). The scale is f^2 V L^2 / (2 pi^2 nu).
  constexpr double nu = 0.7, f = -3.0, length = 1.4;
  constexpr std::int64_t n = 8;
  Grid3 const grid{{n, 2, 3}, {length, 0.5, 2.0}};
  LossFields fields({grid, parse_boundary("0, 0, flux, flux, flux, flux"), {.value = f}});
  at::Tensor const x = at::linspace(0.0, length, n + 1, at::kDouble).view({1, 1, n + 1, 1, 1});
  fields.in.nu = at::full_like(fields.in.nu, nu);
  fields.in.u = (f / (2 * nu) * x * (length - x)).expand_as(fields.in.u).contiguous();
  auto const found = make_loss("energy_normalised", fields.problem)->evaluate(fields.in).values;
  double const expected =
      -std::numbers::pi * std::numbers::pi / 12 * (1.0 - 1.0 / static_cast<double>(n * n));
  EXPECT_NEAR(found[0].item<double>(), expected, kRounding);
  // The same function as a sampled source, on one face fewer: the box counts as twice as long.
  LossFields sampled(
      {grid, parse_boundary("0, flux, flux, flux, flux, flux"), {.kind = SourceKind::sampled}});
  sampled.in = fields.in;
  sampled.in.f = at::full_like(fields.in.nu, f);
  auto const quarter = make_loss("energy_normalised", sampled.problem)->evaluate(sampled.in).values;
  EXPECT_NEAR(quarter[0].item<double>(), expected / 4, kRounding);
}

TEST(EnergyLoss, ScalesOfLiftAndSourceAddUp) {
  at::manual_seed(1);
  LossFields const f({Grid3::cube(4), {}, {.value = 5.0}});
  auto const plain = make_loss("energy", f.problem)->evaluate(f.in).values;
  auto const normalised = make_loss("energy_normalised", f.problem)->evaluate(f.in).values;
  at::Tensor const of_lift = f.in.nu.flatten(1).mean(1) / 2;
  at::Tensor const of_source =
      25.0 / (2 * std::numbers::pi * std::numbers::pi) * f.in.nu.reciprocal().flatten(1).mean(1);
  EXPECT_TRUE(at::allclose(normalised, plain / (of_lift + of_source), kRounding, kRounding));
}

}  // namespace
}  // namespace voxcycle
