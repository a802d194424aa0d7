// SPDX-License-Identifier: BSD-3-Clause
#include "two_cases.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace study_findings_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(Findings, SayHowMuchSoonerACycleIs) {
  auto const study = two_cases();
  auto const groups = groups_of(study);
  EXPECT_THAT(
      findings_of(study, groups),
      ElementsAre("cycle reaches the relative L2 error at which direct ends (10.00 %) in 0.16 of "
                  "the time that direct takes (0.13 to 0.20 over 2 seeds)."));
  EXPECT_EQ(result_of(study, groups), findings_of(study, groups)[0]);
  EXPECT_THAT(doubts_of(study, groups), IsEmpty());
}

TEST(Findings, SayHowMuchLaterACycleIs) {
  auto study = two_cases();
  for (std::size_t const k : {1, 3}) {
    for (auto& point : study.runs[k].curve) point.seconds *= 10.0;
  }
  EXPECT_THAT(findings_of(study, groups_of(study)),
              ElementsAre(HasSubstr(
                  " in 1.60 times the time that direct takes (1.33 to 2.00 over 2 seeds).")));
}

TEST(Findings, SayWhereSeedsDisagreeAndWhereThereIsOne) {
  auto study = two_cases();
  for (std::size_t const k : {1, 3}) {
    for (auto& point : study.runs[k].curve) point.seconds *= 6.0;
  }
  EXPECT_THAT(findings_of(study, groups_of(study)),
              ElementsAre(HasSubstr("(0.80 to 1.20 over 2 seeds: either may be the faster).")));
  study.runs.resize(2);
  EXPECT_THAT(findings_of(study, groups_of(study)),
              ElementsAre(HasSubstr("takes (one seed, so its spread is not known).")));
}

TEST(Result, IsTheFindingOfTheFastest) {
  auto study = two_cases();
  EXPECT_EQ(result_of({}, {}), "");
  auto const add = [&](char const* name, double slower) {
    for (int seed : {1, 2}) {
      study.runs.push_back(run_of(name, seed, 4, 0.1));
      for (auto& point : study.runs.back().curve) point.seconds *= slower;
    }
  };
  add("twice", 2.0);
  add("half", 0.5);
  EXPECT_THAT(result_of(study, groups_of(study)), StartsWith("The fastest of 3: half reaches "));
  EXPECT_THAT(render_study(study), HasSubstr("<p class='result'>The fastest of 3: half reaches "));
  EXPECT_THAT(study_json(study), HasSubstr(R"("result": "The fastest of 3: half reaches )"));
  EXPECT_THAT(result_of(study, groups_of(study)),
              HasSubstr(" in 0.080 of the time that direct takes (0.067 to 0.100 over 2 seeds)."));
  for (auto& run : study.runs) {
    if (run.case_name == "direct") continue;
    for (auto& point : run.curve) point.seconds *= 30.0;
  }
  EXPECT_THAT(result_of(study, groups_of(study)),
              StartsWith("None of 3 is faster; the nearest: half reaches "));
  study.target = 1e-3;
  EXPECT_EQ(result_of(study, groups_of(study)), "None of 3 reaches its target in all runs.");
}

TEST(Findings, SayNothingOfATargetThatIsMetBeforeTraining) {
  auto study = two_cases();
  study.target = 1.0;  // direct is there before its first step
  auto const groups = groups_of(study);
  EXPECT_THAT(findings_of(study, groups), IsEmpty());
  EXPECT_THAT(doubts_of(study, groups),
              ElementsAre(HasSubstr("direct met the target before training began (2 of 2 runs)")));
}

TEST(Findings, SayWhereTheyMissTheTargetAndWhereStepsDidHarm) {
  auto study = two_cases();
  auto& cycle = study.runs[3];
  for (std::size_t k = 2; k < cycle.curve.size(); ++k) cycle.curve[k].rel_l2 = 0.2;
  auto const groups = groups_of(study);
  EXPECT_THAT(
      findings_of(study, groups),
      ElementsAre("Of 2 runs of cycle, 1 reaches the relative L2 error at which direct ends "
                  "(10.00 %) in 34.0 s."));
  EXPECT_THAT(
      doubts_of(study, groups),
      ElementsAre(HasSubstr("cycle ended above the error with which it began on 16^3 (1 of 2 "
                            "runs)")));
  EXPECT_THAT(render_study(study), HasSubstr("cycle ended above the error"));
  study.target = 0.01;
  EXPECT_THAT(
      findings_of(study, groups_of(study)),
      ElementsAre("cycle does not reach a held-out relative L2 error of 1.00 % in 34.0 s."));
}

}  // namespace study_findings_test
}  // namespace voxcycle
