// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/optim/multi_batch_lbfgs.hpp"

#include "voxcycle/core/error.hpp"

#include <cmath>
#include <limits>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace multi_batch_lbfgs_test {

/// Least squares, mean over a batch of (a_i.x - b_i)^2 / 2; batch k begins at row k (batch -
/// overlap), over all rows again and again.
class LeastSquares final : public BatchObjective {
 public:
  LeastSquares(at::Tensor a, at::Tensor b, std::int64_t batch, std::int64_t overlap)
      : a_(std::move(a)), b_(std::move(b)), batch_(batch), overlap_(overlap) {}

  std::int64_t size() const override { return a_.size(1); }
  at::Tensor point() const override { return x_.clone(); }
  BatchEvaluation evaluate(std::int64_t number, at::Tensor const& x) override {
    x_ = x.clone();
    return {loss(number, x), gradient(number, 0, batch_, x), gradient(number, 0, overlap_, x),
            gradient(number, batch_ - overlap_, batch_, x)};
  }
  double value(std::int64_t number, at::Tensor const& x) override {
    x_ = x.clone();
    return loss(number, x);
  }

  double drift = 0.0;  ///< of the value from call to call

 private:
  at::Tensor rows(std::int64_t number, std::int64_t begin, std::int64_t end) const {
    return (at::arange(begin, end, at::kLong) + number * (batch_ - overlap_)).remainder(a_.size(0));
  }
  double loss(std::int64_t number, at::Tensor const& x) {
    auto const r = rows(number, 0, batch_);
    calls_ += 1.0;
    return 0.5 * (a_.index_select(0, r).mv(x) - b_.index_select(0, r))
                     .square()
                     .mean()
                     .item<double>() +
           drift * calls_;
  }
  at::Tensor gradient(std::int64_t number, std::int64_t begin, std::int64_t end,
                      at::Tensor const& x) const {
    auto const r = rows(number, begin, end);
    auto const a = a_.index_select(0, r);
    return a.t().mv(a.mv(x) - b_.index_select(0, r)) / static_cast<double>(end - begin);
  }

  at::Tensor a_;
  at::Tensor b_;
  at::Tensor x_ = at::zeros({a_.size(1)}, at::kDouble);
  std::int64_t batch_;
  std::int64_t overlap_;
  double calls_ = 0.0;
};

class MultiBatchLbfgsTest : public ::testing::Test {
 protected:
  MultiBatchLbfgsTest() {
    at::manual_seed(4);
    a_ = at::randn({600, 20}, at::kDouble) * at::logspace(0, 1.5, 20, 10.0, at::kDouble);
    expected_ = at::randn({20}, at::kDouble);
  }
  MultiBatchLbfgs make(LeastSquares& objective) const {
    return {*comm_,
            objective,
            at::ones({20}, at::kDouble),
            {.pairs = 20, .first_step = 0.01, .gradient_norm = 1e-8}};
  }

  std::unique_ptr<Communicator> comm_ = make_self_communicator();
  at::Tensor a_;
  at::Tensor expected_;
};

TEST_F(MultiBatchLbfgsTest, FindsWhatAllBatchesHaveInCommon) {
  LeastSquares objective(a_, a_.mv(expected_), 120, 60);
  auto method = make(objective);
  LbfgsReport report;
  for (int k = 0; k < 300 && report.stop == LbfgsStop::none; ++k) report = method.iterate();
  EXPECT_EQ(report.stop, LbfgsStop::gradient);
  // 1e-8 over the least curvature, about 1.
  EXPECT_LT((objective.point() - expected_).norm().item<double>(), 1e-7);
}

TEST_F(MultiBatchLbfgsTest, TheOverlapShowsCurvatureWhereBatchesDisagree) {
  // Noise: every batch has a minimum of its own. On the overlap y = A s exactly, so no pair lacks
  // curvature, and the end is near the minimum over all rows.
  at::Tensor const b = a_.mv(expected_) + 0.1 * at::randn({600}, at::kDouble);
  at::Tensor const best = at::linalg_solve(a_.t().mm(a_), a_.t().mv(b));
  LeastSquares objective(a_, b, 200, 100);
  auto method = make(objective);
  LbfgsReport report;
  for (int k = 0; k < 100; ++k) report = method.iterate();
  EXPECT_EQ(report.skipped, 0);
  EXPECT_EQ(report.stop, LbfgsStop::none);
  // Standard error of 200 rows with noise 0.1 in the weakest direction: 0.007, times sqrt(20).
  EXPECT_LT((objective.point() - best).norm().item<double>(), 0.05);
}

TEST_F(MultiBatchLbfgsTest, RefusesWhatIsNoFunction) {
  LeastSquares objective(a_, a_.mv(expected_), 120, 60);
  objective.drift = 1e-6;
  auto method = make(objective);
  EXPECT_THROW(method.iterate(), Error);
}

TEST_F(MultiBatchLbfgsTest, RefusesABatchThatIsNotFinite) {
  at::Tensor b = a_.mv(expected_);
  b[70] = NAN;  // first in the second batch of 60 + 60
  LeastSquares objective(a_, b, 60, 0);
  auto method = make(objective);
  EXPECT_NO_THROW(method.iterate());
  EXPECT_THROW(method.iterate(), Error);
}

TEST_F(MultiBatchLbfgsTest, GoesOnFromItsStateWithTheSameBits) {
  auto const run = [&](int first, int second) {
    LeastSquares objective(a_, a_.mv(expected_), 120, 60);
    NamedTensors kept;
    {
      auto method = make(objective);
      for (int k = 0; k < first; ++k) method.iterate();
      for (auto const& [name, values] : method.state()) kept.emplace_back(name, values.clone());
    }
    auto method = make(objective);
    method.restore([&](std::string const& name) {
      for (auto const& entry : kept) {
        if (entry.first == name) return entry.second;
      }
      throw Error("no " + name);
    });
    for (int k = 0; k < second; ++k) method.iterate();
    return objective.point();
  };
  auto const whole = run(0, 14);
  for (int first : {1, 5, 13}) EXPECT_TRUE(at::equal(run(first, 14 - first), whole)) << first;
}

}  // namespace multi_batch_lbfgs_test
}  // namespace voxcycle
