// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/config/config_study.hpp"

#include "voxcycle/core/error.hpp"

#include "config_text.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace config_study_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string error_of(std::string const& text) {
  try {
    config_of(text);
  } catch (Error const& error) {
    return error.what();
  }
  return "";
}

char const* const kStudy = R"([vary]
train.loss = energy|energy_normalised  # two
run.seed = 1 | 2
[case.direct]
cycle.name = custom
cycle.path = 2
  [case.as-it-is]   # a case without settings
[case.w]
cycle.name = w
)";

TEST(ConfigStudy, ReadsAlternativesAndCasesInTheirOrder) {
  auto const study = config_of(kStudy).study();
  ASSERT_EQ(study.vary.size(), 2U);
  EXPECT_EQ(study.vary[0].key, "train.loss");
  EXPECT_THAT(study.vary[0].values, ElementsAre("energy", "energy_normalised"));
  EXPECT_THAT(study.vary[1].values, ElementsAre("1", "2"));
  ASSERT_EQ(study.cases.size(), 3U);
  EXPECT_EQ(study.cases[0].name, "direct");
  EXPECT_THAT(study.cases[0].settings,
              ElementsAre(Pair("cycle.name", "custom"), Pair("cycle.path", "2")));
  EXPECT_EQ(study.cases[1].name, "as-it-is");
  EXPECT_TRUE(study.cases[1].settings.empty());
  EXPECT_EQ(study.cases[2].name, "w");
}

TEST(ConfigStudy, LeavesTheKeysAlone) {
  auto const config = config_of(kStudy);
  EXPECT_EQ(config.text("train.loss"), Config().text("train.loss"));
  EXPECT_EQ(config.fingerprint().text(), Config().fingerprint().text());
  EXPECT_TRUE(Config().study().vary.empty());
  EXPECT_TRUE(Config().study().cases.empty());
}

TEST(ConfigStudy, ADumpReadsBackAsTheSame) {
  auto const dump = config_of(kStudy).dump();
  auto const again = config_of(dump);
  EXPECT_EQ(again.dump(), dump);
  EXPECT_EQ(again.study().cases.size(), 3U);
  auto forgotten = again;
  forgotten.forget_study();
  EXPECT_EQ(forgotten.dump(), Config().dump());
}

TEST(ConfigStudy, TheCommandLineReplacesALine) {
  auto config = config_of(kStudy);
  config.set("vary.run.seed", "5");
  config.set("case.w.cycle.name", "f");
  EXPECT_THAT(config.study().vary[1].values, ElementsAre("5"));
  EXPECT_THAT(config.study().cases[2].settings, ElementsAre(Pair("cycle.name", "f")));
  EXPECT_EQ(config.study().vary.size(), 2U);
  EXPECT_EQ(config.study().cases.size(), 3U);
}

TEST(ConfigStudy, UnknownKeysNameTheNearestValidOnes) {
  EXPECT_THAT(error_of("[vary]\ntrain.los = energy\n"),
              AllOf(HasSubstr("'train.los' in [vary]"), HasSubstr("train.loss")));
  EXPECT_THAT(error_of("[case.a]\ncycle.nam = v\n"),
              AllOf(HasSubstr("'cycle.nam' in [case.a]"), HasSubstr("cycle.name")));
  EXPECT_THAT(error_of("[cases.a]\ncycle.name = v\n"), HasSubstr("unknown config key"));
  EXPECT_THAT(error_of("[varied]\nrun.seed = 1\n"), HasSubstr("unknown config key"));
}

TEST(ConfigStudy, RefusesWhatBelongsToTheStudyAndWhatIsTwice) {
  EXPECT_THAT(error_of("[vary]\nrun.directory = a | b\n"), HasSubstr("cannot stand in [vary]"));
  EXPECT_THAT(error_of("[case.a]\nablate.jobs = 2\n"), HasSubstr("cannot stand in [case.a]"));
  EXPECT_THAT(error_of("[vary]\nrun.seed = 1 | 2 | 1\n"), HasSubstr("'1' twice"));
  EXPECT_THAT(error_of("[case.a b]\n"), HasSubstr("no name of a case"));
  EXPECT_THAT(error_of("[case.]\n"), HasSubstr("no name of a case"));
  EXPECT_THAT(error_of("[case]\na = 1\n"), HasSubstr("names no key"));
}

TEST(ConfigStudy, MembersOfAnEnsembleHaveSectionsToo) {
  auto config = config_of("[ensemble]\nmembers = 3\n[member.2]\ntrain.loss = energy\n[member.3]\n");
  ASSERT_EQ(config.study().members.size(), 2U);
  EXPECT_EQ(config.study().members[0].name, "2");
  EXPECT_THAT(config.study().members[0].settings, ElementsAre(Pair("train.loss", "energy")));
  EXPECT_TRUE(config.study().members[1].settings.empty());
  EXPECT_TRUE(config.study().cases.empty());
  EXPECT_EQ(config_of(config.dump()).dump(), config.dump());
  config.set("member.2.train.loss", "residual");
  EXPECT_THAT(config.study().members[0].settings, ElementsAre(Pair("train.loss", "residual")));
  config.forget_study();
  EXPECT_TRUE(config.study().members.empty());

  EXPECT_THAT(error_of("[member.a]\ntrain.loss = energy\n"), HasSubstr("no number of a member"));
  EXPECT_THAT(error_of("[member.02]\n"), HasSubstr("no number of a member"));
  EXPECT_THAT(error_of("[member.0]\n"), HasSubstr("no number of a member"));
  EXPECT_THAT(error_of("[member]\na = 1\n"), HasSubstr("[member.K]"));
  EXPECT_THAT(error_of("[member.1]\ntrain.los = energy\n"), HasSubstr("'train.los' in [member.1]"));
  EXPECT_THAT(error_of("[member.1]\nensemble.members = 2\n"),
              HasSubstr("cannot stand in [member.1]"));
  EXPECT_THAT(error_of("[member.1]\nrun.threads = 2\n"),
              HasSubstr("says how the processes compute"));
  EXPECT_THAT(error_of("[member.1]\n[member.1]\n"), HasSubstr("stands there twice"));
}

}  // namespace config_study_test
}  // namespace voxcycle
