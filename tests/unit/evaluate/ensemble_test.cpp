// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/evaluate/ensemble.hpp"

#include "voxcycle/core/json.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace ensemble_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// x on the nodes of n samples.
at::Tensor straight(std::int64_t n) {
  return at::linspace(0.0, 1.0, 5, at::kDouble).view({1, 1, 5, 1, 1}).expand({n, 1, 5, 5, 5});
}

/// "Predicts" (1 + factor log nu) x, for nu that is one number a sample.
class OffBy : public Network {
 public:
  explicit OffBy(double factor) : Network(std::make_shared<LevelProblems>()), factor_(factor) {}
  MicroBatches forward(ForwardContext const&, Grid3 const&, MicroBatches const& x) override {
    at::Tensor const log_nu = x.front().mean({1, 2, 3, 4}, /*keepdim=*/true).to(at::kDouble);
    return {(1.0 + factor_ * log_nu) * straight(log_nu.size(0))};
  }
  std::vector<LevelParameters> levels(Grid3 const&) const override { return {}; }
  Script script() const override { return {.name = ""}; }

 private:
  double factor_;
};

/// Three samples with log nu = 1, 3, 2, all with the solution x.
HeldOutSamples samples() {
  at::Tensor const log_nu = at::tensor({1.0, 3.0, 2.0}, at::kFloat).view({3, 1, 1, 1, 1});
  return held_out_samples(HeldOutSet{.grid = Grid3::cube(4),
                                     .omega = {},
                                     .nu = log_nu.exp().expand({3, 1, 4, 4, 4}).contiguous(),
                                     .f = {},
                                     .u_ref = straight(3).contiguous()});
}

EnsembleEvaluation evaluated(std::vector<double> const& factors) {
  auto const comm = make_self_communicator();
  std::vector<std::shared_ptr<Network>> networks;
  for (double const factor : factors) networks.push_back(std::make_shared<OffBy>(factor));
  return evaluate_ensemble(*comm, networks, samples(), {.micro_batch_size = 2});
}

constexpr double kRounding = 1e-5;  // of float32 nu

TEST(Ensemble, MeanSpreadAndErrorsAreThoseByHand) {
  auto const e = evaluated({0.1, 0.3});
  ASSERT_EQ(e.members.size(), 2U);
  // The error of a member is factor log nu, by any norm; the mean over samples 2 factor.
  EXPECT_NEAR(e.members[0].rel_l2_mean, 0.2, kRounding);
  EXPECT_NEAR(e.members[1].energy_norm_error_mean, 0.6, kRounding);
  EXPECT_NEAR(e.members[1].samples[1].rel_l2, 0.9, kRounding);
  ASSERT_TRUE(e.mean);
  EXPECT_NEAR(e.mean->rel_l2_mean, 0.4, kRounding);
  // Deviation 0.1 sqrt(2) log nu, of a mean 1 + 0.2 log nu.
  ASSERT_EQ(e.spread.size(), 3U);
  double const log_nu[] = {1.0, 3.0, 2.0};
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_NEAR(e.spread[k], 0.1 * std::sqrt(2.0) * log_nu[k] / (1.0 + 0.2 * log_nu[k]), kRounding);
  }
  auto const f = figures_of(e);
  EXPECT_NEAR(f.members_error, 0.4, kRounding);
  EXPECT_EQ(f.best, 0U);
  EXPECT_NEAR(f.over_members, 1.0, kRounding);
  EXPECT_NEAR(f.over_best, 2.0, kRounding);
  EXPECT_DOUBLE_EQ(f.rank_correlation, 1.0);
  EXPECT_THAT(verdict(e)[1], HasSubstr("not worth 2 times the cost: member 1 alone is as close"));
}

TEST(Ensemble, ErrorsThatCancelMakeTheMeanWorthItsCost) {
  auto const e = evaluated({0.1, -0.15, 0.4, -0.15});  // mean 0.05
  auto const f = figures_of(e);
  EXPECT_EQ(f.best, 0U);
  EXPECT_NEAR(f.over_members, 0.25, kRounding);
  EXPECT_NEAR(f.over_best, 0.5, kRounding);
  auto const sentences = verdict(e);
  EXPECT_THAT(sentences[0], HasSubstr("leaves 25.00 % of the members' mean energy-norm error"));
  EXPECT_THAT(sentences[1], HasSubstr("worth 4 times the cost"));
  EXPECT_THAT(sentences[1], Not(HasSubstr("not worth")));
}

TEST(Ensemble, IsWrittenForProgramsAndPeople) {
  auto e = evaluated({0.1, 0.3});
  auto json = Json::parse(ensemble_json(e));
  EXPECT_EQ(json["members"].size(), 2U);
  EXPECT_DOUBLE_EQ(json["mean"]["rel_l2_mean"].get<double>(), e.mean->rel_l2_mean);
  EXPECT_EQ(json["per_sample"][1]["spread"].get<double>(), e.spread[1]);
  EXPECT_EQ(json["rank_correlation"].get<double>(), 1.0);
  auto const csv = ensemble_csv(e);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 3 * 3);
  EXPECT_THAT(csv, HasSubstr("\nmean,2,"));
  EXPECT_THAT(render_ensemble(e, "two", {}, ""), HasSubstr("What the spread tells"));

  e.mean.reset();
  e.spread.clear();
  e.why_no_mean = "no mean: a reason.";
  json = Json::parse(ensemble_json(e));
  EXPECT_TRUE(json["mean"].is_null());
  EXPECT_TRUE(json["rank_correlation"].is_null());
  EXPECT_THAT(verdict(e), ElementsAre("no mean: a reason."));
  EXPECT_THAT(ensemble_table(e), HasSubstr("no mean: a reason."));
  EXPECT_THAT(render_ensemble(e, "two", {}, ""), Not(HasSubstr("What the spread tells")));
}

}  // namespace ensemble_test
}  // namespace voxcycle
