// SPDX-License-Identifier: BSD-3-Clause
#include "two_cases.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace study_findings_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Findings, SayHowMuchSoonerACycleIs) {
  auto const study = two_cases();
  auto const groups = groups_of(study);
  EXPECT_THAT(
      findings_of(study, groups),
      ElementsAre("cycle reaches the relative L2 error at which direct ends (10.00 %) 6.2 (5.0 "
                  "to 7.5) times sooner."));
  EXPECT_THAT(doubts_of(study, groups), IsEmpty());
}

TEST(Findings, SayHowMuchLaterACycleIs) {
  auto study = two_cases();
  for (std::size_t const k : {1, 3}) {
    for (auto& point : study.runs[k].curve) point.seconds *= 10.0;
  }
  EXPECT_THAT(findings_of(study, groups_of(study)),
              ElementsAre(HasSubstr(" 1.6 (1.3 to 2.0) times later.")));
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
