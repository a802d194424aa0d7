// SPDX-License-Identifier: BSD-3-Clause
#include "loss_fields.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace energy_loss_test {

using testing::LossFields;

// Multigrid is a direct solver on a grid this small, so that the scale is the solution's energy.
Grid3 const kGrid{{3, 4, 5}, {1.0, 0.7, 1.9}};
constexpr double kRounding = 1e-10;  // float64, differences of solves

/// 1/2 v^T K(nu) v for v of sample k, dense.
double stored(LossFields const& f, std::int64_t k, at::Tensor const& v) {
  at::Tensor const flat = v[k].flatten();
  return 0.5 * flat.dot(f.stiffness(k).mv(flat)).item<double>();
}

TEST(EnergyLoss, NormalisedGapIsTheSquaredRelativeErrorInTheEnergyNorm) {
  at::manual_seed(1);
  for (LossProblem const& problem :
       {LossProblem{kGrid, {}, {}}, LossProblem{kGrid, {}, {.value = 5.0}},
        LossProblem{kGrid, parse_boundary("flux, 2, -1, flux, flux, 0.5"), {}},
        LossProblem{kGrid,
                    parse_boundary("2, 2, flux, flux, flux, flux"),
                    {.kind = SourceKind::sampled}}}) {
    LossFields const f(problem);
    auto const loss = make_loss("energy_normalised", problem);
    LossInput solved = f.in;
    solved.u = from_datum(f.solution(), problem.boundary);
    at::Tensor const gap = loss->evaluate(f.in).values - loss->evaluate(solved).values;
    for (std::int64_t k : {0, 1}) {
      double const expected = stored(f, k, f.in.u - solved.u) / stored(f, k, solved.u);
      EXPECT_NEAR(gap[k].item<double>(), expected, kRounding * expected)
          << to_string(problem.boundary) << "; source " << to_string(problem.source);
    }
  }
}

TEST(EnergyLoss, TheSolutionHasNormalisedEnergyOne) {
  // Minus one where the source alone drives it: J(u*) = -1/2 u*^T K u*.
  at::manual_seed(2);
  for (bool const driven : {false, true}) {
    LossFields f(
        {kGrid,
         parse_boundary(driven ? "0, 0, flux, flux, flux, flux" : "1, 0, flux, flux, flux, flux"),
         {.value = driven ? -3.0 : 0.0}});
    f.in.u = f.solution();
    auto const found = make_loss("energy_normalised", f.problem)->evaluate(f.in).values;
    EXPECT_TRUE(
        at::allclose(found, at::full({2}, driven ? -1.0 : 1.0, at::kDouble), 0.0, kRounding));
  }
}

TEST(EnergyLoss, ScaleIsNearTheSolutionsEnergyForInclusionsToo) {
  // A sphere and a box, a thousand times more conductive: the lift has many times the energy.
  Grid3 const grid = Grid3::cube(8);
  LossFields f({grid, {}, {}});
  at::Tensor const nu = at::ones({8, 8, 8}, at::kDouble);
  at::Tensor const x = (at::arange(8, at::kDouble) + 0.5) / 8.0;
  auto const at_axis = [&](std::int64_t axis, double centre) {
    std::vector<std::int64_t> shape{1, 1, 1};
    shape[axis] = 8;
    return (x - centre).abs().view(shape);
  };
  at::Tensor const sphere =
      at_axis(0, 0.3).square() + at_axis(1, 0.3).square() + at_axis(2, 0.4).square() < 0.0625;
  at::Tensor const box =
      (at_axis(0, 0.7) < 0.2) & (at_axis(1, 0.75) < 0.15) & (at_axis(2, 0.5) < 0.3);
  nu.masked_fill_(sphere | box, 1e3);
  f.in.nu = nu.expand({2, 1, 8, 8, 8}).contiguous();
  at::Tensor const solution = f.solution();
  double const of_lift = stored(f, 0, f.lifted.expand_as(solution)), best = stored(f, 0, solution);
  ASSERT_GT(of_lift, 25.0 * best);
  f.in.u = solution;
  auto const found = make_loss("energy_normalised", f.problem)->evaluate(f.in).values;
  EXPECT_GT(found[0].item<double>(), 0.5);
  EXPECT_LE(found[0].item<double>(), 1.0 + kRounding);
}

TEST(EnergyLoss, PlainEnergyIsThatOfTheDenseSystem) {
  at::manual_seed(3);
  LossFields const f({kGrid, {}, {.kind = SourceKind::sampled}});
  auto const found = make_loss("energy", f.problem)->evaluate(f.in).values;
  for (std::int64_t k : {0, 1}) {
    double const expected =
        stored(f, k, f.in.u) - f.load(k).dot(f.in.u[k].flatten()).item<double>();
    EXPECT_NEAR(found[k].item<double>(), expected, kRounding);
  }
}

}  // namespace energy_loss_test
}  // namespace voxcycle
