// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/loss.hpp"

#include "voxcycle/core/error.hpp"

#include "loss_fields.hpp"
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace loss_test {

using testing::LossFields;
using testing::relative_difference;

// Central differences with step 1e-4 in float64: exact for quadratics but for rounding, 1e-16/1e-4
// times sums of some hundred terms.
constexpr double kStep = 1e-4;
constexpr double kDifference = 1e-9;
// Of float32 results against float64 ones: sums of products with unit roundoff 6e-8, residuals of a
// second difference lose two digits more.
constexpr double kFloat = 1e-4;
// What is left of a gradient at the solution, relative to the gradient at a random field.
constexpr double kSolved = 1e-12;

// 120 nodes: on grids this small multigrid is a direct solver, so that the gradient of
// energy_multigrid, which counts its V-cycle as exact, is that of its value.
Grid3 const kGrid{{3, 4, 5}, {1.0, 0.7, 1.9}};

Source const kConstant{SourceKind::constant, -2.5};
Source const kSampled{SourceKind::sampled, 0.0};

/// Problems of all kinds: different values without a source, and equal ones (0 or not) with one.
std::vector<LossProblem> problems() {
  return {{kGrid, {}, {}},
          {kGrid, parse_boundary("flux, 2, -1, flux, flux, 0.5"), {}},
          {kGrid, {}, kConstant},
          {kGrid, parse_boundary("flux, 0, 0, flux, flux, flux"), kConstant},
          {kGrid, parse_boundary("2, 2, flux, flux, flux, flux"), kSampled}};
}

std::string text_of(LossProblem const& problem) {
  return to_string(problem.boundary) + "; source " + to_string(problem.source);
}

LossInput converted(LossInput const& in, at::ScalarType dtype) {
  return {in.u.to(dtype), in.nu.to(dtype), in.f.defined() ? in.f.to(dtype) : in.f,
          in.u_ref.to(dtype)};
}

class EveryLoss : public ::testing::TestWithParam<std::string> {
 protected:
  EveryLoss() { at::manual_seed(1); }
};

INSTANTIATE_TEST_SUITE_P(Losses, EveryLoss, ::testing::ValuesIn(loss_names()),
                         [](auto const& one) { return one.param; });

TEST_P(EveryLoss, GradientEqualsCentralDifferences) {
  for (LossProblem const& problem : problems()) {
    LossFields const f(problem);
    auto const loss = make_loss(GetParam(), f.problem);
    at::Tensor const gradient = loss->evaluate(f.in).gradient * f.mask;
    at::Tensor gradients = at::zeros_like(gradient);
    for (std::int64_t node = 0; node < kGrid.node_count(); ++node) {
      if (f.mask.flatten()[node].item<double>() == 0.0) continue;
      auto const at_offset = [&](double offset) {
        LossInput moved = f.in;
        moved.u = f.in.u.clone();
        moved.u.view({2, -1}).select(1, node).add_(offset);
        return loss->evaluate(moved).values;
      };
      gradients.view({2, -1}).select(1, node).copy_((at_offset(kStep) - at_offset(-kStep)) /
                                                    (2 * kStep));
    }
    EXPECT_LT(relative_difference(gradient, gradients), kDifference) << text_of(problem);
  }
}

TEST_P(EveryLoss, IsMinimalWithZeroGradientAtTheSolution) {
  for (LossProblem const& problem : problems()) {
    LossFields f(problem);
    f.in.u_ref = from_datum(f.solution(), problem.boundary);
    auto const loss = make_loss(GetParam(), problem);
    auto const away = loss->evaluate(f.in);
    LossInput solved = f.in;
    solved.u = f.in.u_ref;
    auto const there = loss->evaluate(solved);
    EXPECT_TRUE((there.values < away.values).all().item<bool>()) << text_of(problem);
    EXPECT_LT((there.gradient * f.mask).abs().max().item<double>(),
              kSolved * (away.gradient * f.mask).abs().max().item<double>())
        << text_of(problem);
  }
}

TEST_P(EveryLoss, SamplesDoNotSeeEachOther) {
  // Work and bits must not depend on which samples share a micro-batch.
  LossFields const f({Grid3{{8, 4, 12}, {1.0, 1.0, 1.0}}, {}, kSampled});
  for (auto dtype : {at::kDouble, at::kFloat}) {
    LossInput const both = converted(f.in, dtype);
    auto const loss = make_loss(GetParam(), f.problem);
    auto const together = loss->evaluate(both);
    EXPECT_EQ(together.values.scalar_type(), at::kDouble);
    EXPECT_EQ(together.gradient.scalar_type(), dtype);
    EXPECT_EQ(together.gradient.sizes(), both.u.sizes());
    for (std::int64_t k : {0, 1}) {
      auto const one = [&](at::Tensor const& x) { return x.narrow(0, k, 1).contiguous(); };
      auto const alone = loss->evaluate({one(both.u), one(both.nu), one(both.f), one(both.u_ref)});
      EXPECT_TRUE(at::equal(alone.values[0], together.values[k]));
      EXPECT_TRUE(at::equal(alone.gradient[0], together.gradient[k]));
    }
  }
}

// A large constant in the boundary values costs float32 no digits.
TEST_P(EveryLoss, TakesNoNoticeOfTheDatum) {
  LossFields const f({Grid3::cube(8), parse_boundary("0, 1, flux, flux, flux, flux"), kConstant});
  auto const exact = make_loss(GetParam(), f.problem)->evaluate(f.in);
  LossProblem shifted = f.problem;
  shifted.boundary = parse_boundary("300, 301, flux, flux, flux, flux");
  auto const found = make_loss(GetParam(), shifted)->evaluate(converted(f.in, at::kFloat));
  EXPECT_LT(relative_difference(found.values, exact.values), kFloat);
  EXPECT_LT(relative_difference(found.gradient * f.mask, exact.gradient * f.mask), kFloat);
}

TEST_P(EveryLoss, Float32FollowsFloat64) {
  LossFields const f({Grid3::cube(8), {}, kSampled});
  auto const loss = make_loss(GetParam(), f.problem);
  auto const exact = loss->evaluate(f.in);
  auto const rounded = loss->evaluate(converted(f.in, at::kFloat));
  EXPECT_LT(relative_difference(rounded.values, exact.values), kFloat);
  EXPECT_LT(relative_difference(rounded.gradient * f.mask, exact.gradient * f.mask), kFloat);
}

TEST_P(EveryLoss, SameBitsForAnyNumberOfThreads) {
  LossFields const f({Grid3{{32, 16, 16}, {1.0, 1.0, 1.0}}, {}, kConstant});
  auto const loss = make_loss(GetParam(), f.problem);
  int const threads = at::get_num_threads();
  at::set_num_threads(1);
  auto const alone = loss->evaluate(f.in);
  at::set_num_threads(3);
  auto const shared = loss->evaluate(f.in);
  at::set_num_threads(threads);
  EXPECT_TRUE(at::equal(alone.values, shared.values));
  EXPECT_TRUE(at::equal(alone.gradient, shared.gradient));
}

TEST_P(EveryLoss, LooksAtReferencesWhereItSaysThatItDoes) {
  LossFields const f({kGrid, {}, kConstant});
  auto const loss = make_loss(GetParam(), f.problem);
  LossInput other = f.in;
  other.u_ref = needs_reference(GetParam()) ? f.in.u_ref * 2.0 : at::Tensor();
  EXPECT_EQ(at::equal(loss->evaluate(other).values, loss->evaluate(f.in).values),
            !needs_reference(GetParam()));
}

TEST(Loss, RefusesUnknownNamesAndProblemsWithoutScale) {
  EXPECT_THROW(make_loss("mse", {kGrid, {}}), Error);
  Boundary const equal = parse_boundary("0, 0, flux, flux, flux, flux");
  Boundary const free = parse_boundary("flux, flux, flux, flux, flux, flux");
  for (char const* name : {"energy_normalised", "energy_multigrid", "residual", "supervised"}) {
    EXPECT_THROW(make_loss(name, {kGrid, equal}), Error) << name;
    EXPECT_NO_THROW(make_loss(name, {kGrid, equal, kConstant})) << name;
    EXPECT_NO_THROW(make_loss(name, {kGrid, equal, kSampled})) << name;
  }
  for (char const* name : {"energy_normalised", "energy_multigrid"}) {
    EXPECT_THROW(make_loss(name, {kGrid, free, kConstant}), Error) << name;
  }
}

}  // namespace loss_test
}  // namespace voxcycle
