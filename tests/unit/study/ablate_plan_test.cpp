// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/study/ablate_plan.hpp"

#include "voxcycle/config/options.hpp"
#include "voxcycle/core/error.hpp"

#include <set>

#include "../config/config_text.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace ablate_plan_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string error_of(std::string const& text) {
  try {
    plan_study(config_of(text));
  } catch (Error const& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string> labels_of(std::vector<PlannedRun> const& runs) {
  std::vector<std::string> labels;
  for (auto const& run : runs) labels.push_back(run.label);
  return labels;
}

char const* const kStudy = R"([cycle]
levels = 8, 16
steps = 7
[ablate]
directory = studies/one
[vary]
train.loss = energy | energy_normalised
run.seed = 1 | 2
[case.direct]
cycle.name = custom
cycle.path = 2
[case.half_v]
cycle.name = half_v
)";

TEST(Plan, CrossesCasesWithAlternatives) {
  auto const runs = plan_study(config_of(kStudy));
  EXPECT_THAT(labels_of(runs),
              ElementsAre("direct, loss energy, seed 1", "direct, loss energy, seed 2",
                          "direct, loss energy_normalised, seed 1",
                          "direct, loss energy_normalised, seed 2", "half_v, loss energy, seed 1",
                          "half_v, loss energy, seed 2", "half_v, loss energy_normalised, seed 1",
                          "half_v, loss energy_normalised, seed 2"));
  auto const& run = runs[5];
  EXPECT_EQ(run.number, 6);
  EXPECT_EQ(run.case_name, "half_v");
  EXPECT_EQ(run.group, "half_v, loss energy");
  EXPECT_EQ(run.directory, "studies/one/half_v,loss=energy,seed=2");
  EXPECT_EQ(run.config.text("run.directory"), run.directory);
  EXPECT_EQ(run.config.text("cycle.name"), "half_v");
  EXPECT_EQ(run.config.text("cycle.steps"), "7");
  EXPECT_EQ(run.config.text("train.loss"), "energy");
  EXPECT_EQ(run.config.text("run.seed"), "2");
  EXPECT_EQ(run.config.text("train.keep_stages"), "yes");
  EXPECT_EQ(runs[0].config.text("cycle.path"), "2");
  EXPECT_TRUE(run.config.study().vary.empty());
  EXPECT_EQ(run.config.dump().find("[vary]"), std::string::npos);
}

TEST(Plan, SettlesTheBatchOfAllProcessesOfARun) {
  auto const runs =
      plan_study(config_of("[cycle]\nbatch = 6\n[ablate]\nprocesses = 2\n"
                           "[vary]\ncycle.batch_is = global | per_process\n"));
  EXPECT_THAT(labels_of(runs), ElementsAre("batch_is global", "batch_is per_process"));
  EXPECT_EQ(train_options(runs[0].config).levels.front().batch, 6);
  EXPECT_EQ(train_options(runs[1].config).levels.front().batch, 12);
  // As the run itself says it in its config.cfg: else a study would not know it again.
  EXPECT_EQ(runs[1].config.text("cycle.batch_is"), "global");
}

TEST(Plan, CasesAloneAndAlternativesAlone) {
  EXPECT_THAT(labels_of(plan_study(config_of("[case.a]\n[case.b]\ncycle.name = v\n"))),
              ElementsAre("a", "b"));
  auto const runs = plan_study(config_of("[vary]\nrun.seed = 3 | 1\n"));
  EXPECT_THAT(labels_of(runs), ElementsAre("seed 3", "seed 1"));
  EXPECT_EQ(runs[0].group, "");
  EXPECT_EQ(runs[1].directory, "runs/ablation/seed=1");
}

TEST(Plan, DirectoriesDoNotMoveWhenTheStudyGrows) {
  std::string const longer = std::string(kStudy) + "[case.w]\ncycle.name = w\n";
  auto const before = plan_study(config_of(kStudy));
  auto const after = plan_study(config_of(longer));
  for (std::size_t k = 0; k < before.size(); ++k) {
    EXPECT_EQ(after[k].directory, before[k].directory);
  }
}

TEST(Plan, DirectoriesDifferAndCanBeTyped) {
  auto const long_list = std::string(300, '1');
  auto const runs =
      plan_study(config_of("[vary]\nnetwork.channels = 4:8, 8:8 | 4 8 8 8 | 4/8/8/8 "
                           "|  | " +
                           long_list + "\ncycle.steps = 1 | 2\n"));
  std::set<std::string> names;
  for (auto const& run : runs) {
    auto const name = run.directory.substr(std::string("runs/ablation/").size());
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_LT(name.size(), 140U);
    EXPECT_EQ(name.find_first_of(" /:|'\"$*?"), std::string::npos) << name;
  }
  EXPECT_EQ(names.size(), 10U);
}

TEST(Plan, KeysThatEndAlikeKeepTheirSections) {
  auto const runs = plan_study(config_of("[vary]\nrun.seed = 1\ndata.seed = 2\n"));
  EXPECT_THAT(labels_of(runs), ElementsAre("run.seed 1, data.seed 2"));
}

TEST(Plan, RunsWhoseSamplesDifferHaveDataOfTheirOwn) {
  auto const directories = [](std::string const& text) {
    std::vector<std::string> all;
    for (auto const& run : plan_study(config_of("[data]\ndirectory = d\n" + text))) {
      all.push_back(run.config.text("data.directory"));
    }
    return all;
  };
  EXPECT_THAT(directories("[vary]\nproblem.source = a.npy | b.npy\nrun.seed = 1 | 2\n"),
              ElementsAre("d/source=a.npy", "d/source=a.npy", "d/source=b.npy", "d/source=b.npy"));
  EXPECT_THAT(directories("[vary]\nrun.seed = 1 | 2\ndata.augmentation = all | none\n"),
              ElementsAre("d", "d", "d", "d"));
  EXPECT_THAT(directories("[case.a]\nproblem.source = 1\n[case.b]\ndata.directory = e\n"),
              ElementsAre("d", "e"));
  // Names that only look alike.
  auto const formulas = directories("[vary]\nproblem.source = 8*x | 8/x\n");
  EXPECT_NE(formulas[0], formulas[1]);
}

TEST(Plan, RefusesWhatIsNoStudy) {
  EXPECT_THAT(error_of("[cycle]\nsteps = 3\n"), HasSubstr("describes no study"));
  EXPECT_THAT(error_of("[vary]\ncycle.name = v | w\n[case.a]\ncycle.name = f\n"),
              HasSubstr("cycle.name stands in [vary] and in [case.a]"));
  EXPECT_THAT(error_of("[ablate]\nbaseline = c\n[case.a]\n[case.b]\n"),
              HasSubstr("Choose one of a, b."));
  EXPECT_THAT(error_of("[ablate]\nbaseline = c\n[vary]\nrun.seed = 1\n"), HasSubstr("no cases"));
}

TEST(Plan, RefusesOverridesThatItsOwnValuesWouldUndo) {
  auto const message_of = [](std::string const& study, std::string const& key) {
    Config config = config_of(study);
    config.set(key, "3");
    try {
      plan_study(config);
    } catch (Error const& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  std::string const vary = "[vary]\nrun.seed = 1 | 2\n";
  EXPECT_THAT(message_of(vary, "run.seed"),
              HasSubstr("run.seed stands in [vary]. Give --vary.run.seed instead."));
  EXPECT_EQ(message_of(vary, "vary.run.seed"), "no error");
  EXPECT_EQ(message_of(vary, "data.seed"), "no error");
  EXPECT_EQ(message_of("[run]\nseed = 3\n" + vary, "data.seed"), "no error");
  EXPECT_THAT(message_of("[case.a]\ncycle.steps = 1\n[case.b]\n", "cycle.steps"),
              HasSubstr("Give --case.a.cycle.steps instead."));
}

TEST(Plan, DataIdentityIsThatOfFamiliesBoundaryAndGrids) {
  Config const config;
  auto const of = [&](char const* key, char const* value) {
    Config changed;
    changed.set(key, value);
    return data_fingerprint(changed);
  };
  EXPECT_EQ(of("run.seed", "7"), data_fingerprint(config));
  EXPECT_EQ(of("cycle.steps", "7"), data_fingerprint(config));
  for (auto const& [key, value] : std::vector<std::pair<char const*, char const*>>{
           {"data.seed", "7"}, {"cycle.levels", "4"}, {"problem.boundary", "0, 0, 0, 0, 0, 0"}}) {
    EXPECT_NE(of(key, value), data_fingerprint(config)) << key;
  }
}

}  // namespace ablate_plan_test
}  // namespace voxcycle
