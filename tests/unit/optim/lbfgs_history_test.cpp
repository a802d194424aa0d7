// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/optim/lbfgs_history.hpp"

#include "voxcycle/core/error.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace lbfgs_history_test {

constexpr std::int64_t kSize = 12;

at::Tensor outer_product(at::Tensor const& a, at::Tensor const& b) {
  return a.unsqueeze(1).mm(b.unsqueeze(0));
}

/// The inverse Hessian by the BFGS formula on dense matrices (Nocedal and Wright, eq. 7.16), from
/// gamma diag(D) of the last pair.
at::Tensor dense_inverse(std::vector<std::pair<at::Tensor, at::Tensor>> const& pairs,
                         at::Tensor const& diagonal) {
  auto const& [s_last, y_last] = pairs.back();
  at::Tensor const gamma = s_last.dot(y_last) / y_last.dot(diagonal * y_last);
  at::Tensor h = at::diag(diagonal) * gamma;
  at::Tensor const one = at::eye(kSize, at::kDouble);
  for (auto const& [s, y] : pairs) {
    at::Tensor const rho = 1 / s.dot(y);
    at::Tensor const v = one - rho * outer_product(y, s);
    h = v.t().mm(h).mm(v) + rho * outer_product(s, s);
  }
  return h;
}

class LbfgsHistoryTest : public ::testing::Test {
 protected:
  LbfgsHistoryTest() { at::manual_seed(5); }

  /// A pair of positive curvature.
  static std::pair<at::Tensor, at::Tensor> pair() {
    at::Tensor const s = at::randn({kSize}, at::kDouble);
    return {s, s * (0.5 + at::rand({kSize}, at::kDouble)) + 0.01 * at::randn({kSize}, at::kDouble)};
  }

  std::unique_ptr<Communicator> comm_ = make_self_communicator();
  Shares shares_{*comm_, kSize};
  at::Tensor diagonal_ = 0.5 + at::rand({kSize}, at::kDouble);
};

TEST_F(LbfgsHistoryTest, EqualsTheDenseFormulaAlsoOnceOldPairsAreDropped) {
  LbfgsHistory history(shares_, 4, diagonal_.clone(), at::kDouble);
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs;
  for (int k = 0; k < 11; ++k) {
    pairs.push_back(pair());
    ASSERT_TRUE(history.add(pairs.back().first, pairs.back().second));
    if (pairs.size() > 4) pairs.erase(pairs.begin());
    at::Tensor const q = at::randn({kSize}, at::kDouble);
    at::Tensor const expected = dense_inverse(pairs, diagonal_).mv(q);
    // Rounding of some dozen operations, amplified by the condition of H, about 1e3.
    EXPECT_TRUE(at::allclose(history.apply(q), expected, 1e-11, 1e-11)) << k;
    EXPECT_EQ(history.count(), std::min(k + 1, 4));
  }
}

TEST_F(LbfgsHistoryTest, SkipsPairsOfNoOrNegativeCurvature) {
  LbfgsHistory history(shares_, 4, diagonal_.clone(), at::kDouble);
  auto const [s, y] = pair();
  EXPECT_FALSE(history.add(s, -y));
  EXPECT_FALSE(history.add(s, at::zeros_like(s)));
  EXPECT_FALSE(history.add(s, y / 0.0));
  at::Tensor const across = y - s * (y.dot(s) / s.dot(s));  // s.y is rounding alone
  EXPECT_FALSE(history.add(s, across));
  EXPECT_EQ(history.count(), 0);
  EXPECT_TRUE(history.add(s, y));
}

TEST_F(LbfgsHistoryTest, WithoutPairsDescendsBySoMuchASteepestStep) {
  LbfgsHistory history(shares_, 4, diagonal_.clone(), at::kDouble);
  at::Tensor const g = at::randn({kSize}, at::kDouble);
  auto const descent = history.descend(g, 0.25);
  EXPECT_NEAR(descent.d.square().mean().sqrt().item<double>(), 0.25, 1e-15);
  at::Tensor const ratio = descent.d / (diagonal_ * g);
  EXPECT_NEAR(ratio.max().item<double>(), ratio.min().item<double>(), 1e-14);
  EXPECT_LT(descent.gradient, 0.0);
  EXPECT_FALSE(descent.dropped);
}

TEST_F(LbfgsHistoryTest, KeepsTwoVectorsAPairInTheTypeAskedFor) {
  EXPECT_EQ(LbfgsHistory(shares_, 7, diagonal_, at::kDouble).bytes(), 7 * 2 * kSize * 8);
  EXPECT_EQ(LbfgsHistory(shares_, 7, diagonal_, at::kFloat).bytes(), 7 * 2 * kSize * 4);
}

TEST_F(LbfgsHistoryTest, RefusesToKeepNothingAndForeignStates) {
  EXPECT_THROW(LbfgsHistory(shares_, 0, diagonal_, at::kDouble), Error);
  LbfgsHistory history(shares_, 4, diagonal_.clone(), at::kDouble);
  for (int k = 0; k < 4; ++k) {
    auto const [s, y] = pair();
    history.add(s, y);
  }
  auto const state = history.state();
  LbfgsHistory shorter(shares_, 3, diagonal_.clone(), at::kDouble);
  EXPECT_THROW(shorter.restore([&](std::string const& name) {
    for (auto const& entry : state) {
      if (entry.first == name) return entry.second;
    }
    throw Error("no " + name);
  }),
               Error);
}

}  // namespace lbfgs_history_test
}  // namespace voxcycle
