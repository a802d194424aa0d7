// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/study/study.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/json.hpp"

#include <algorithm>
#include <cmath>

#include "two_cases.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace study_test {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A few sums and logarithms of numbers near 1.
constexpr double rounding = 1e-12;

TEST(SecondsToTarget, InterpolatesOnTheFinestGridAlone) {
  auto const run = run_of("a", 1, 4, 0.8);
  // Errors 0.8, 0.4, 0.2, 0.1 at 4, 14, 24, 34 s: one halving takes 10 s.
  EXPECT_NEAR(seconds_to_target(run, StudyMetric::rel_l2, 0.2), 24, rounding * 24);
  EXPECT_NEAR(seconds_to_target(run, StudyMetric::rel_l2, 0.4 / std::sqrt(2)), 19, rounding * 19);
  EXPECT_NEAR(seconds_to_target(run, StudyMetric::energy_gap, 0.04), 24, rounding * 24);
  EXPECT_NEAR(seconds_to_target(run, StudyMetric::energy_norm, 0.6), 24, rounding * 24);
  // The first evaluation on the finest grid, not the small error on the coarse one.
  EXPECT_EQ(seconds_to_target(run, StudyMetric::rel_l2, 0.9), 4);
  EXPECT_TRUE(std::isnan(seconds_to_target(run, StudyMetric::rel_l2, 0.09)));
}

TEST(SecondsToTarget, DoesNotInterpolateAcrossStages) {
  auto run = run_of("a", 1, 4, 0.8);
  run.curve[3].stage = run.curve[4].stage = 2;
  EXPECT_EQ(seconds_to_target(run, StudyMetric::rel_l2, 0.3), 24);
}

TEST(SecondsToTarget, CountsWhatTheRunStaysBelow) {
  auto run = run_of("a", 1, 0, 0.8);
  run.curve[0].rel_l2 = 0.2;  // before training, which then raises the error
  EXPECT_NEAR(seconds_to_target(run, StudyMetric::rel_l2, 0.2), 20, rounding * 20);
  run.curve[3].rel_l2 = 0.3;
  EXPECT_TRUE(std::isnan(seconds_to_target(run, StudyMetric::rel_l2, 0.2)));
}

TEST(Groups, AreMeansAndRangesOverSeeds) {
  auto const study = two_cases();
  auto const groups = groups_of(study);
  ASSERT_EQ(groups.size(), 2U);
  auto const& direct = groups[0];
  EXPECT_EQ(direct.label, "direct");
  EXPECT_TRUE(direct.settings.empty());
  EXPECT_EQ(direct.runs.size(), 2U);
  // Ends: 0.8 / 8 and 0.4 / 8.
  EXPECT_NEAR(direct.rel_l2.mean, 0.075, rounding);
  EXPECT_NEAR(direct.rel_l2.low, 0.05, rounding);
  EXPECT_NEAR(direct.rel_l2.high, 0.1, rounding);
  EXPECT_NEAR(direct.energy_gap.mean, (0.01 + 0.0025) / 2, rounding);
  EXPECT_NEAR(direct.seconds.mean, 30, rounding * 30);
  EXPECT_NEAR(direct.work.mean, 250, rounding * 250);
  ASSERT_EQ(direct.curve.size(), 4U);
  EXPECT_NEAR(direct.curve[1].rel_l2, 0.3, rounding);
  EXPECT_EQ(groups[1].curve.size(), 5U);
}

TEST(Groups, CompareTimesWithTheBaseline) {
  auto const study = two_cases();
  auto const groups = groups_of(study);
  // What both seeds of direct end at: 0.1, after 30 s and 20 s; the cycle begins there, after 4 s.
  EXPECT_NEAR(groups[0].target, 0.1, rounding);
  ASSERT_EQ(groups[0].seconds_to_target.size(), 2U);
  EXPECT_NEAR(groups[0].seconds_to_target[0], 30, rounding * 30);
  EXPECT_NEAR(groups[0].seconds_to_target[1], 20, rounding * 20);
  EXPECT_NEAR(groups[0].speedup.mean, 1, rounding);
  EXPECT_NEAR(groups[1].speedup.mean, 25.0 / 4, rounding * 6.25);
  EXPECT_NEAR(groups[1].speedup.low, 20.0 / 4, rounding * 5);  // of seed 2
  EXPECT_NEAR(groups[1].speedup.high, 30.0 / 4, rounding * 7.5);

  auto trivial = two_cases();
  trivial.target = 1.0;  // direct is there before its first step
  for (auto const& group : groups_of(trivial)) EXPECT_TRUE(std::isnan(group.speedup.mean));

  auto partly = two_cases();
  partly.target = 0.5;  // seed 2 of direct is there before its first step
  for (auto const& group : groups_of(partly)) {
    EXPECT_EQ(group.seconds_to_target.size(), 2U);
    EXPECT_TRUE(std::isnan(group.speedup.mean)) << group.label;
  }

  auto absolute = two_cases();
  absolute.target = 0.06;  // only seed 2 of direct reaches it
  auto const others = groups_of(absolute);
  EXPECT_EQ(others[0].seconds_to_target.size(), 1U);
  EXPECT_TRUE(std::isnan(others[0].speedup.mean));
  EXPECT_EQ(others[1].seconds_to_target.size(), 2U);
  EXPECT_TRUE(std::isnan(others[1].speedup.mean));
}

TEST(Groups, FindTheBaselineOfTheSameSettings) {
  auto study = two_cases();
  for (auto& run : study.runs) {
    run.settings.emplace_back("train.loss", run.seed == 1 ? "a" : "b");
    run.group += ", train.loss = " + run.settings.back().second;
  }
  auto const groups = groups_of(study);
  ASSERT_EQ(groups.size(), 4U);
  // In the order of runs: direct a, cycle a, direct b, cycle b.
  EXPECT_NEAR(groups[1].target, 0.1, rounding);
  EXPECT_NEAR(groups[3].target, 0.05, rounding);
  EXPECT_THAT(render_study(study),
              HasSubstr("Baseline: direct with the same values of what is varied."));
}

TEST(Groups, OneCaseComparesWithItsFirstGroup) {
  auto study = two_cases();
  study.baseline = "";
  for (auto& run : study.runs) {
    run.settings.emplace_back("cycle.name", run.case_name);
    run.case_name = "";
  }
  auto const groups = groups_of(study);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_NEAR(groups[1].speedup.mean, 25.0 / 4, rounding * 6.25);
  EXPECT_THAT(render_study(study), HasSubstr("Baseline: direct."));
}

TEST(Groups, OfOtherResourcesThanTheBaselineAreMarked) {
  auto study = two_cases();
  for (auto& run : study.runs) run.resources = "1 process of 2 threads";
  EXPECT_TRUE(groups_of(study)[1].comparable);
  EXPECT_THAT(render_study(study), Not(HasSubstr("compare machines")));
  study.runs[3].resources = "2 processes of 1 thread";
  EXPECT_FALSE(groups_of(study)[1].comparable);
  auto const page = render_study(study);
  EXPECT_THAT(page, HasSubstr("1 process of 2 threads | 2 processes of 1 thread"));
  EXPECT_THAT(page, HasSubstr("compare machines"));
}

TEST(Groups, LeaveUnfinishedRunsOut) {
  auto study = two_cases();
  study.runs[2].finished = false;
  study.runs[3].finished = false;
  auto const groups = groups_of(study);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].runs.size(), 1U);
  // One seed of two is no baseline: what is missing may be what went wrong.
  for (auto const& group : groups) {
    EXPECT_TRUE(std::isnan(group.target)) << group.label;
    EXPECT_TRUE(std::isnan(group.speedup.mean)) << group.label;
    EXPECT_EQ(count_of(group), "1 of 2");
  }
  for (bool const other : {false, true}) {  // of the two, with a target of the user's
    study.target = 0.1;
    study.runs[2].finished = other;
    study.runs[3].finished = !other;
    EXPECT_TRUE(std::isnan(groups_of(study)[1].speedup.mean)) << other;
  }
  study.target = 0;
  study.runs[2].finished = false;
  study.runs[3].failure = "the loss is not finite";
  EXPECT_EQ(count_of(groups_of(study)[1]), "1 of 2, 1 failed");
  EXPECT_THAT(render_study(study), HasSubstr("1 of 2, 1 failed"));
  EXPECT_THAT(study_json(study),
              HasSubstr(R"("planned_runs":2,"finished_runs":1,"failed_runs":1,)"));
  study.runs[0].finished = false;
  EXPECT_TRUE(std::isnan(groups_of(study)[0].rel_l2.mean));
  EXPECT_TRUE(std::isnan(groups_of(study)[1].speedup.mean));
  for (auto& run : study.runs) run.finished = run.case_name == "cycle";
  EXPECT_THAT(render_study(study), HasSubstr("there is no target"));
  EXPECT_THAT(render_study(study), Not(HasSubstr("not reached")));
}

TEST(Groups, MeanCurveHasWhatAllSeedsEvaluated) {
  auto study = two_cases();
  study.runs[2].curve.pop_back();
  auto const curve = groups_of(study)[0].curve;
  ASSERT_EQ(curve.size(), 3U);
  EXPECT_NEAR(curve[1].rel_l2, (0.4 + 0.2) / 2, rounding);
  // The ends of both, one after 30 s and one after 20 s: as in the table.
  EXPECT_NEAR(curve[2].rel_l2, groups_of(study)[0].rel_l2.mean, rounding);
  EXPECT_NEAR(curve[2].seconds, 25, rounding * 25);
}

TEST(Groups, OfAnotherGridThanTheBaselineHaveNoTarget) {
  auto study = two_cases();
  for (auto& run : study.runs) {
    if (run.case_name != "cycle") continue;
    run.path = {"8^3"};
    run.grid = "8^3";
  }
  auto const groups = groups_of(study);
  EXPECT_TRUE(std::isnan(groups[1].target));
  EXPECT_TRUE(groups[1].seconds_to_target.empty());
  auto const page = render_study(study);
  EXPECT_THAT(page, Not(HasSubstr("not reached")));
  // Each grid has its own best.
  std::string const best = "class='best'";
  EXPECT_THAT(page, HasSubstr(best + ">1.0e-07 %"));
  EXPECT_THAT(page, HasSubstr(best + ">7.50 %"));
}

TEST(Groups, EndWhereTheirFinestGridDoes) {
  auto study = two_cases();
  for (auto& run : study.runs) {
    run.path.emplace_back("8^3");
    run.curve.push_back({2, "8^3", 9, 100, 900, 1e-9, 1e-9, 1e-9});
  }
  auto const groups = groups_of(study);
  EXPECT_NEAR(groups[0].rel_l2.mean, 0.075, rounding);
  EXPECT_NEAR(groups[0].seconds.mean, 30, rounding * 30);
  EXPECT_NEAR(groups[0].work.mean, 250, rounding * 250);
  EXPECT_THAT(render_study(study), HasSubstr("direct *"));
}

TEST(Divergence, IsAnEndFarAboveTheBeginningAndAboveNoSolutionAtAll) {
  auto run = run_of("a", 1, 0, 0.8);  // energy norms 2.4, 1.2, 0.6, 0.3
  EXPECT_FALSE(diverged(run));
  auto const ends_at = [&](double error) {
    run.curve.back().energy_norm = error;
    return diverged(run);
  };
  EXPECT_FALSE(ends_at(7.1)) << "merely bad";
  EXPECT_TRUE(ends_at(7.3));
  EXPECT_TRUE(ends_at(NAN));
  EXPECT_TRUE(ends_at(INFINITY));
  run.curve.front().energy_norm = 0.1;  // a good start is no reason to call 290 % diverged
  EXPECT_FALSE(ends_at(2.9));
  EXPECT_TRUE(ends_at(3.1));
  run.curve[1].energy_norm = 1e9;  // passing trouble
  EXPECT_FALSE(ends_at(0.3));
  EXPECT_FALSE(diverged(StudyRun{}));
}

/// Adds a finished run that ends with errors of 1e6.
void add_wild(Study& study, std::string const& case_name, int seed) {
  auto run = run_of(case_name, seed, 4, 0.1);
  for (std::size_t k = 2; k < run.curve.size(); ++k) {
    run.curve[k].rel_l2 = run.curve[k].energy_norm = 1e6;
    run.curve[k].energy_gap = 1e12;
  }
  for (auto& spectrum : run.spectra) {
    for (auto& energy : spectrum.energy) energy *= 1e12;
  }
  study.runs.push_back(run);
}

TEST(Groups, CountWhatDiverged) {
  auto study = two_cases();
  add_wild(study, "wild", 1);
  add_wild(study, "cycle", 3);
  auto const groups = groups_of(study);
  EXPECT_EQ(divergence_of(groups[0]), "");
  EXPECT_EQ(divergence_of(groups[1]), "1 of 3 diverged");
  EXPECT_EQ(divergence_of(groups[2]), "diverged");
  EXPECT_THAT(study_json(study),
              HasSubstr(R"("finished_runs":3,"failed_runs":0,"diverged_runs":1,)"));
  // Nothing is measured against a baseline that diverged.
  add_wild(study, "direct", 3);
  EXPECT_TRUE(std::isnan(groups_of(study)[1].target));
  EXPECT_TRUE(std::isnan(groups_of(study)[1].speedup.mean));
}

TEST(StudyTables, QuoteAndLeaveNoNumberThatIsNone) {
  auto study = two_cases();
  study.runs[0].label = "a \"b\", c\\d\n";
  study.runs[0].curve[0].rel_l2 = NAN;
  auto const text = study_json(study);
  EXPECT_THAT(text, HasSubstr(R"("label":"a \"b\", c\\d\n")"));
  EXPECT_THAT(text, HasSubstr(R"("rel_l2_mean":null)"));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
  auto const csv = study_csv(study);
  EXPECT_THAT(csv, HasSubstr("16^3,0,0,100,,"));
  EXPECT_THAT(csv, Not(HasSubstr("nan")));
  EXPECT_THAT(csv, HasSubstr("1,\"a \"\"b\"\", c\\d\n\",\"direct\",1,\"finished\",2,16^3,0,"));
  // A header, 4 evaluations of direct and 5 of the cycle, twice; one label holds a line's end.
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 2 * 9 + 4);
}

TEST(StudyTables, SharesOfASpectrumSumToOne) {
  auto const spectrum = Json::parse(study_json(two_cases()))["runs"][0]["spectra"][0];
  EXPECT_EQ(spectrum["energy"], Json({0.0, 0.4, 0.3, 0.1}));
  EXPECT_THAT(spectrum["share"].get<std::vector<double>>(),
              ElementsAre(0.0, DoubleEq(0.5), DoubleEq(0.375), DoubleEq(0.125)));
}

TEST(StudyPage, TellsWhatIsMissing) {
  auto study = two_cases();
  EXPECT_THAT(render_study(study), Not(HasSubstr("missing")));
  study.runs[3].finished = false;
  study.runs[3].state = "not begun";
  auto const page = render_study(study);
  EXPECT_THAT(page, HasSubstr("1 of 4 runs are missing"));
  EXPECT_THAT(page, HasSubstr("4: cycle, seed 2, not begun"));
  for (auto& run : study.runs) run.finished = false;
  EXPECT_THAT(render_study(study), HasSubstr("No run is finished yet."));
}

TEST(StudyPage, ShowsEveryGroupInTableAndCharts) {
  auto study = two_cases();
  study.runs.push_back(run_of("a < b", 1, 1, 0.2));
  auto const page = render_study(study);
  for (auto const* text : {"<td>direct</td>", "<td>cycle</td>", "a &lt; b", "6.25 ×", "by-time",
                           "by-work", "Errors by wavenumber", "10.00 %"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
  EXPECT_THAT(page, HasSubstr("<small>5.00 – 10.00</small>"));
  EXPECT_THAT(page, Not(HasSubstr("a < b")));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

/// Labels of y axes, chart by chart, as far as the first chart with `title`.
std::vector<std::string> y_ticks(std::string page, std::string const& title) {
  page.resize(std::min(page.size(), page.find("<h3>" + title)));
  std::string const mark = "text-anchor='end'>";
  std::vector<std::string> labels;
  for (auto at = page.find(mark); at != std::string::npos; at = page.find(mark, at + 1)) {
    auto const from = at + mark.size();
    labels.push_back(page.substr(from, page.find('<', from) - from));
  }
  return labels;
}

TEST(StudyPage, NamesWhatDivergedAndKeepsTheOthersReadable) {
  auto study = two_cases();
  auto const before = render_study(study);
  add_wild(study, "wild", 1);
  auto const after = render_study(study);
  EXPECT_THAT(before, Not(HasSubstr("iverged")));
  EXPECT_THAT(after, HasSubstr("wild<small class='warn'>diverged</small>"));
  EXPECT_THAT(after, HasSubstr("wild (diverged)</span>"));
  EXPECT_THAT(after, HasSubstr("above 300 % (that of u = 0"));
  // The scales of the charts that all share, errors and spectra, and of the others' spectra.
  EXPECT_GT(y_ticks(before, "wild").size(), 6U * 3 + 3);
  EXPECT_EQ(y_ticks(after, "wild"), y_ticks(before, "wild"));
  std::string const arrow = "l4 -6l4 6";
  EXPECT_THAT(before, Not(HasSubstr(arrow)));
  EXPECT_THAT(after, HasSubstr(arrow));
}

TEST(StudyPage, SaysWhatEndedARun) {
  auto study = two_cases();
  study.runs[3].finished = false;
  study.runs[3].state = "failed";
  study.runs[3].failure = "the loss is not finite";
  EXPECT_THAT(render_study(study), HasSubstr("4: cycle, seed 2, failed: the loss is not finite"));
}

TEST(StudyMetrics, HaveNames) {
  for (auto const* name : {"rel_l2", "energy_gap", "energy_norm_error"}) {
    EXPECT_EQ(to_string(parse_study_metric(name)), name);
  }
  EXPECT_EQ(to_string(parse_study_metric("energy_norm")), "energy_norm_error") << "its old name";
  EXPECT_THROW(parse_study_metric("l2"), Error);
}

}  // namespace study_test
}  // namespace voxcycle
