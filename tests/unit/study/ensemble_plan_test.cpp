// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/study/ensemble_plan.hpp"

#include "voxcycle/core/error.hpp"

#include "../config/config_text.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace ensemble_plan_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string error_of(std::string const& text, std::string const& key = "",
                     std::string const& value = "") {
  try {
    auto config = config_of(text);
    if (!key.empty()) config.set(key, value);
    plan_ensemble(config);
  } catch (Error const& error) {
    return error.what();
  }
  return "";
}

char const* const kThree = R"([run]
directory = runs/three
seed = 7
[ensemble]
members = 3
at_once = 2
[member.2]
train.loss = energy
[member.3]
run.seed = 1
cycle.name = v
)";

TEST(EnsemblePlan, MembersAreRunsWithSeedsAndSettingsOfTheirOwn) {
  auto const config = config_of(kThree);
  EXPECT_TRUE(is_ensemble(config));
  auto const runs = plan_ensemble(config);
  ASSERT_EQ(runs.size(), 3U);
  char const* const seeds[] = {"7", "8", "1"};
  char const* const losses[] = {"energy_multigrid", "energy", "energy_multigrid"};
  char const* const cycles[] = {"half_v", "half_v", "v"};
  for (std::size_t k = 0; k < runs.size(); ++k) {
    auto const& own = runs[k].config;
    EXPECT_EQ(runs[k].number, static_cast<int>(k) + 1);
    EXPECT_EQ(runs[k].directory, member_directory("runs/three", runs[k].number));
    EXPECT_EQ(own.text("run.directory"), runs[k].directory);
    EXPECT_EQ(own.text("run.seed"), seeds[k]);
    EXPECT_EQ(own.text("train.loss"), losses[k]);
    EXPECT_EQ(own.text("cycle.name"), cycles[k]);
    // Its config alone describes one training.
    EXPECT_FALSE(is_ensemble(own));
    EXPECT_EQ(own.text("ensemble.at_once"), "1");
    EXPECT_TRUE(own.study().members.empty());
    EXPECT_EQ(config_of(own.dump()).dump(), own.dump());
  }
  EXPECT_EQ(runs[1].directory, "runs/three/member_2");
  // An ensemble is a way to train: it is no part of what a run depends on.
  EXPECT_EQ(config.fingerprint().text(), config_of("[run]\nseed = 7\n").fingerprint().text());
}

TEST(EnsemblePlan, WithoutMembersTheConfigIsTheOnlyRun) {
  auto const config = config_of("[run]\ndirectory = runs/one\n");
  EXPECT_FALSE(is_ensemble(config));
  auto const runs = plan_ensemble(config);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].directory, "runs/one");
  EXPECT_EQ(runs[0].config.dump(), config.dump());
}

TEST(EnsemblePlan, RefusesWhatNoEnsembleCanBe) {
  std::string const two = "[ensemble]\nmembers = 2\n";
  EXPECT_THAT(error_of("[ensemble]\nmembers = 0\n"), HasSubstr("ensemble.members = '0'"));
  EXPECT_THAT(error_of(two + "at_once = 3\n"),
              AllOf(HasSubstr("ensemble.at_once = 3"), HasSubstr("ensemble.members = 2")));
  EXPECT_THAT(error_of(two + "[member.3]\ntrain.loss = energy\n"),
              HasSubstr("[member.3] has no effect: ensemble.members = 2"));
  EXPECT_THAT(error_of("[member.1]\ntrain.loss = energy\n"),
              HasSubstr("[member.1] has no effect: ensemble.members = 1"));
  EXPECT_THAT(error_of(two + "[member.2]\nrun.seed = 1\n"),
              HasSubstr("member 1 and member 2 are the same training"));
  EXPECT_EQ(error_of(two + "[member.2]\nrun.seed = 1\ntrain.loss = energy\n"), "");
  // Another place makes no other training.
  EXPECT_THAT(error_of(two + "[member.2]\nrun.seed = 1\ndata.directory = other\n"),
              HasSubstr("are the same training"));
  EXPECT_THAT(error_of(two + "[member.2]\ntrain.loss = energy\n", "train.loss", "residual"),
              HasSubstr("Give --member.2.train.loss instead"));
  EXPECT_EQ(error_of(two + "[member.2]\ntrain.loss = energy\n", "member.2.train.loss", "residual"),
            "");
}

TEST(EnsemblePlan, SaysWhyMembersHaveNoMean) {
  auto const why = [](std::string const& section, bool own_grids = true) {
    auto const config = config_of("[cycle]\nlevels = 8, 16\n[ensemble]\nmembers = 2\n[member.2]\n" +
                                  section + "\n");
    return why_no_mean(plan_ensemble(config), own_grids).value_or("");
  };
  EXPECT_EQ(why("train.loss = energy"), "");
  EXPECT_THAT(why("problem.source = 1"),
              HasSubstr("problem.source is '0' for member 1 and '1' for member 2"));
  EXPECT_THAT(why("problem.boundary = 1, 2, flux, flux, flux, flux"),
              HasSubstr("problem.boundary"));
  EXPECT_THAT(why("data.directory = other"), HasSubstr("data.directory"));
  EXPECT_THAT(why("cycle.levels = 8"),
              HasSubstr("the finest grid is '16^3' for member 1 and '8^3' for member 2"));
  EXPECT_EQ(why("cycle.levels = 8", false), "");
  EXPECT_EQ(why("cycle.levels = 4, 16"), "");
}

}  // namespace ensemble_plan_test
}  // namespace voxcycle
