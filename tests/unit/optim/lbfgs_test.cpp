// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/optim/lbfgs.hpp"

#include "voxcycle/core/error.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

#include "test_functions.hpp"
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/optim.h>

namespace voxcycle {
namespace lbfgs_test {

/// scipy's first step has the length 1.
double unit_step(std::int64_t n) {
  return 1.0 / std::sqrt(static_cast<double>(n));
}

class LbfgsTest : public ::testing::Test {
 protected:
  Lbfgs make(FunctionObjective& objective, LbfgsOptions const& options) {
    return {*comm_, objective, at::ones({objective.size()}, at::kDouble), options};
  }

  std::unique_ptr<Communicator> comm_ = make_self_communicator();
};

/// Evaluations that torch's own L-BFGS needs to come below `target`.
std::int64_t evaluations_of_torch(at::Tensor const& start, double target) {
  at::Tensor x = start.clone().requires_grad_(true);
  torch::optim::LBFGS method({x}, torch::optim::LBFGSOptions(1.0)
                                      .max_iter(2000)
                                      .max_eval(10'000)
                                      .history_size(10)
                                      .tolerance_grad(0)
                                      .tolerance_change(0)
                                      .line_search_fn("strong_wolfe"));
  std::int64_t evaluations = 0;
  std::int64_t needed = 0;
  method.step([&] {
    ++evaluations;
    auto const here = rosenbrock(x.detach());
    if (needed == 0 && here.value < target) needed = evaluations;
    x.mutable_grad() = here.gradient;
    return at::scalar_tensor(here.value, at::kDouble);
  });
  return needed;
}

TEST_F(LbfgsTest, FindsRosenbrocksMinimumInAboutTheEvaluationsOfOthers) {
  // Evaluations of scipy 1.17.1 until f < 1e-8: minimize(method="L-BFGS-B", maxcor=10) on
  // scipy.optimize.rosen from the same starts, counted in the function.
  std::map<std::pair<std::int64_t, Start>, std::int64_t> const scipy{
      {{2, Start::alternating}, 43},    {{2, Start::ramp}, 19},
      {{5, Start::alternating}, 65},    {{5, Start::ramp}, 24},
      {{20, Start::alternating}, 153},  {{20, Start::ramp}, 39},
      {{100, Start::alternating}, 611}, {{100, Start::ramp}, 49}};
  constexpr double kTarget = 1e-8;
  std::int64_t ours_of_all = 0;
  std::int64_t scipys_of_all = 0;
  for (auto const& [problem, by_scipy] : scipy) {
    auto const start = rosenbrock_start(problem.first, problem.second);
    std::int64_t needed = 0;
    FunctionObjective objective(start, {});
    objective = FunctionObjective(start, [&](at::Tensor const& x) {
      auto const here = rosenbrock(x);
      if (needed == 0 && here.value < kTarget) needed = objective.evaluations;
      return here;
    });
    auto method = make(
        objective, {.pairs = 10, .first_step = unit_step(problem.first), .gradient_norm = 1e-10});
    LbfgsReport report;
    for (int k = 0; k < 2000 && report.stop == LbfgsStop::none; ++k) report = method.iterate();
    EXPECT_EQ(report.stop, LbfgsStop::gradient);
    EXPECT_EQ(report.all_evaluations, objective.evaluations);
    // Condition about 2500: a gradient of 1e-10 leaves 1e-9 of x or so.
    EXPECT_LT((objective.point() - 1).abs().max().item<double>(), 1e-8);
    std::int64_t const by_torch = evaluations_of_torch(start, kTarget);
    RecordProperty("evaluations_" + std::to_string(problem.first),
                   std::to_string(needed) + " scipy " + std::to_string(by_scipy) + " torch " +
                       std::to_string(by_torch));
    EXPECT_LE(needed, 1.5 * static_cast<double>(std::max(by_scipy, by_torch)))
        << problem.first << " variables; scipy " << by_scipy << ", torch " << by_torch;
    ours_of_all += needed;
    scipys_of_all += by_scipy;
  }
  EXPECT_LE(ours_of_all, 1.5 * static_cast<double>(scipys_of_all));
}

TEST_F(LbfgsTest, FindsTheMinimumOfAQuadratic) {
  at::manual_seed(3);
  std::int64_t const n = 40;
  at::Tensor const root = at::randn({n, n}, at::kDouble);
  at::Tensor const a = root.mm(root.t()) + 0.1 * at::eye(n, at::kDouble);
  at::Tensor const b = at::randn({n}, at::kDouble);
  at::Tensor const expected = at::linalg_solve(a, b);
  for (auto history : {at::kDouble, at::kFloat}) {
    FunctionObjective objective(at::zeros({n}, at::kDouble), quadratic(a, b));
    // Values are sums of cancelling terms: close to the minimum gradients have to decide.
    auto method = make(objective, {.pairs = n,
                                   .first_step = 0.01,
                                   .search = {.noise = 1e-12},
                                   .gradient_norm = 1e-8,
                                   .history = history});
    LbfgsReport report;
    int iterations = 0;
    for (; iterations < 400 && report.stop == LbfgsStop::none; ++iterations) {
      report = method.iterate();
    }
    EXPECT_EQ(report.stop, LbfgsStop::gradient);
    EXPECT_LE(report.gradient_norm, 1e-8);
    // 1e-8 times the norm of the inverse, at most 10.
    EXPECT_LT((objective.point() - expected).norm().item<double>(), 1e-7);
  }
}

TEST_F(LbfgsTest, AGoodDiagonalSavesIterations) {
  std::int64_t const n = 200;
  at::Tensor const stiffness = at::logspace(0, 6, n, 10.0, at::kDouble);
  auto const iterations = [&](at::Tensor const& diagonal) {
    FunctionObjective objective(at::ones({n}, at::kDouble),
                                quadratic(at::diag(stiffness), at::zeros({n}, at::kDouble)));
    Lbfgs method(*comm_, objective, diagonal, {.pairs = 5, .gradient_norm = 1e-6});
    int k = 0;
    while (k < 1000 && method.iterate().stop == LbfgsStop::none) ++k;
    return k;
  };
  // With the exact inverse every direction is Newton's: only its length has to be found.
  EXPECT_LE(iterations(1.0 / stiffness), 4);
  EXPECT_GT(iterations(at::ones({n}, at::kDouble)), 50);
}

TEST_F(LbfgsTest, VariablesOfZeroDiagonalStay) {
  at::Tensor const start = rosenbrock_start(6, Start::ramp);
  FunctionObjective objective(start, rosenbrock);
  at::Tensor diagonal = at::ones({6}, at::kDouble);
  diagonal[2] = 0.0;
  Lbfgs method(*comm_, objective, diagonal, {});
  for (int k = 0; k < 10; ++k) method.iterate();
  EXPECT_EQ(objective.point()[2].item<double>(), start[2].item<double>());
  EXPECT_NE(objective.point()[3].item<double>(), start[3].item<double>());
}

TEST_F(LbfgsTest, BacksOffFromValuesThatAreNotFinite) {
  // sum of x - log x: infinite for x <= 0, minimum at 1.
  FunctionObjective objective(at::full({3}, 0.01, at::kDouble), [](at::Tensor const& x) {
    if (x.min().item<double>() <= 0) {
      return ObjectiveValue{std::numeric_limits<double>::infinity(), {}};
    }
    return ObjectiveValue{(x - x.log()).sum().item<double>(), 1 - 1 / x};
  });
  auto method = make(objective, {.first_step = 1e4, .gradient_norm = 1e-9});
  LbfgsReport report;
  for (int k = 0; k < 50 && report.stop == LbfgsStop::none; ++k) report = method.iterate();
  EXPECT_EQ(report.stop, LbfgsStop::gradient);
  EXPECT_LT((objective.point() - 1).abs().max().item<double>(), 1e-8);
}

TEST_F(LbfgsTest, RefusesWhatIsNoFunction) {
  int calls = 0;
  FunctionObjective objective(at::ones({2}, at::kDouble), [&](at::Tensor const& x) {
    return ObjectiveValue{x.sum().item<double>() + 1e-12 * ++calls, at::ones_like(x)};
  });
  auto method = make(objective, {});
  try {
    method.iterate();
    ADD_FAILURE() << "no error";
  } catch (Error const& error) {
    EXPECT_NE(std::string(error.what()).find("no function"), std::string::npos) << error.what();
  }
}

TEST_F(LbfgsTest, RefusesAStartThatIsNotFinite) {
  FunctionObjective objective(at::ones({2}, at::kDouble), [](at::Tensor const&) {
    return ObjectiveValue{NAN, {}};
  });
  auto method = make(objective, {});
  EXPECT_THROW(method.iterate(), Error);
}

TEST_F(LbfgsTest, StopsWhereRoundingHidesAllDescent) {
  // Rounded to 1e-4: flat from |x - 1| < 0.01 on. No step of a quadratic model meets x = 1 itself.
  FunctionObjective objective(at::zeros({2}, at::kDouble), [](at::Tensor const& x) {
    at::Tensor const d = x - 1;
    double const value = (d.square() + d.pow(4)).sum().item<double>();
    return ObjectiveValue{std::ceil(value * 1e4) / 1e4, 2 * d + 4 * d.pow(3)};
  });
  auto method = make(objective, {.first_step = 0.3, .search = {.decrease = 0.1, .noise = 0.0}});
  LbfgsReport report;
  at::Tensor before;
  for (int k = 0; k < 50 && report.stop == LbfgsStop::none; ++k) {
    before = objective.point();
    report = method.iterate();
  }
  EXPECT_EQ(report.stop, LbfgsStop::no_descent);
  EXPECT_EQ(report.step_length, 0.0);
  EXPECT_TRUE(at::equal(objective.point(), before)) << "the variables are back";
}

TEST_F(LbfgsTest, SkipsAndCountsPairsWithoutCurvature) {
  // Linear: y = 0. Bounded searches end with a decrease, never with a Wolfe point.
  FunctionObjective objective(at::zeros({2}, at::kDouble), [](at::Tensor const& x) {
    return ObjectiveValue{x.sum().item<double>(), at::ones_like(x)};
  });
  auto method = make(objective, {.search = {.max_evaluations = 2}});
  EXPECT_EQ(method.iterate().skipped, 1);
  EXPECT_EQ(method.iterate().skipped, 2);
  EXPECT_EQ(method.history().count(), 0);
}

TEST_F(LbfgsTest, GoesOnFromItsStateWithTheSameBits) {
  auto const run = [&](int first, int second) {
    FunctionObjective objective(rosenbrock_start(8, Start::alternating), rosenbrock);
    NamedTensors kept;
    {
      auto method = make(objective, {.pairs = 4});
      for (int k = 0; k < first; ++k) method.iterate();
      for (auto const& [name, values] : method.state()) kept.emplace_back(name, values.clone());
    }
    auto method = make(objective, {.pairs = 4});
    method.restore([&](std::string const& name) {
      for (auto const& entry : kept) {
        if (entry.first == name) return entry.second;
      }
      throw Error("no " + name);
    });
    LbfgsReport report;
    for (int k = 0; k < second; ++k) report = method.iterate();
    return std::pair(objective.point(), report.all_evaluations);
  };
  auto const [whole, evaluations] = run(0, 23);
  for (int first : {1, 3, 9, 22}) {
    auto const [parted, count] = run(first, 23 - first);
    EXPECT_TRUE(at::equal(parted, whole)) << first;
    EXPECT_EQ(count, evaluations);
  }
}

TEST_F(LbfgsTest, AnIterationGivenUpInItsSecondSearchIsDoneAgainAsAWhole) {
  // From the sixth iteration on the value is infinite everywhere else, until the search along the
  // scaled gradient has begun.
  bool blocked = false;
  std::int64_t left = -1;
  FunctionObjective objective(rosenbrock_start(5, Start::ramp), [&](at::Tensor const& x) {
    auto here = rosenbrock(x);
    if (blocked && left-- == 0) throw std::runtime_error("given up");
    if (blocked && left > 0) here = {std::numeric_limits<double>::infinity(), {}};
    return here;
  });
  auto method = make(objective, {.first_step = 1e-3});
  for (int k = 0; k < 5; ++k) method.iterate();
  auto const before = method.state();
  blocked = true;
  left = LineSearchOptions{}.max_evaluations + 1;  // the last but one is back at the start
  EXPECT_THROW(method.iterate(), std::runtime_error);
  auto const after = method.state();
  ASSERT_EQ(after.size(), before.size()) << "the history is gone";
  for (std::size_t k = 0; k < after.size(); ++k) {
    EXPECT_EQ(after[k].first, before[k].first);
    EXPECT_TRUE(at::equal(after[k].second, before[k].second)) << after[k].first;
  }
}

}  // namespace lbfgs_test
}  // namespace voxcycle
