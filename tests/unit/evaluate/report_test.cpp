// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/evaluate/report.hpp"

#include "voxcycle/io/png.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace report_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

double const kNaN = std::numeric_limits<double>::quiet_NaN();

MetricRow training_row(int stage, std::int64_t step, double seconds, double loss) {
  return {stage, stage == 0 ? "16^3" : "32^3", step, seconds, step, loss, kNaN, kNaN, kNaN};
}

MetricRow held_out_row(int stage, std::int64_t step, double seconds, double error) {
  return {stage,    stage == 0 ? "16^3" : "32^3", step, seconds, step, kNaN, error, error * error,
          2 * error};
}

ReportInput full_input() {
  ReportInput input;
  input.title = "a run";
  input.summary = {{"cycle", "half_v"}, {"grids", "16^3, 32^3"}};
  for (int stage = 0; stage < 2; ++stage) {
    for (int step = 0; step < 40; ++step) {
      double const seconds = 40 * stage + step + 1;
      input.metrics.push_back(training_row(stage, step, seconds, 0.8 + 1 / seconds));
      if (step % 10 == 9) input.metrics.push_back(held_out_row(stage, step, seconds, 1 / seconds));
    }
  }
  input.grid = "32^3";
  input.errors = {{100, 0.002, 0.0004, 0.02}, {101, 0.006, 0.0016, 0.04}, {102, 0.001, 1e-4, 0.01}};
  std::vector<double> const ramp = {0, 1, 2, 3};
  input.samples = {{"worst sample (index 101)",
                    "relative L2 0.6 %",
                    {{"nu", slice_to_png(ramp, 2, 2, 0, 3, ColorMap::sequential), 0, 3, "S/m"},
                     {"error", slice_to_png(ramp, 2, 2, -3, 3, ColorMap::diverging), -3, 3, "",
                      ColorMap::diverging}}}};
  input.config = "[train]\nsteps = 40\n";
  return input;
}

/// @return what is wrong with the nesting of tags, "" if nothing is. Attributes must be quoted and
/// free of < and >, as they are in well-formed XML.
std::string nesting_fault(std::string const& page) {
  std::vector<std::string> open;
  for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    std::size_t const end = page.find('>', at);
    if (end == std::string::npos) return "unfinished tag at " + std::to_string(at);
    std::string const tag = page.substr(at + 1, end - at - 1);
    if (tag.find('<') != std::string::npos) return "tag within a tag: " + tag;
    if (std::count(tag.begin(), tag.end(), '\'') % 2 != 0) return "open quote: " + tag;
    if (tag.front() == '!' || tag.back() == '/') continue;
    if (tag.front() == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return "unexpected <" + tag + ">";
      open.pop_back();
    } else {
      open.push_back(tag.substr(0, tag.find(' ')));
    }
  }
  return open.empty() ? "" : "never closed: " + open.back();
}

std::vector<std::string> all_between(std::string const& page, std::string const& begin,
                                     std::string const& end) {
  std::vector<std::string> found;
  for (std::size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at + 1)) {
    std::size_t const from = at + begin.size();
    found.push_back(page.substr(from, page.find(end, from) - from));
  }
  return found;
}

TEST(Report, IsWellNestedAndNeedsNothingElse) {
  std::string const page = render_report(full_input());
  EXPECT_EQ(nesting_fault(page), "");
  EXPECT_THAT(
      page, AllOf(HasSubstr("<!DOCTYPE html>"), Not(HasSubstr("<script")), Not(HasSubstr("<link")),
                  Not(HasSubstr("http")), Not(HasSubstr("@import")), Not(HasSubstr("href="))));
  std::vector<std::string> const sources = all_between(page, "src='", "'");
  EXPECT_EQ(sources.size(), 4U) << "two pictures, each with its colour bar";
  for (std::string const& source : sources) {
    EXPECT_EQ(source.rfind("data:image/png;base64,iVBORw0KGgo", 0), 0U) << source.substr(0, 60);
  }
  for (std::string const& url : all_between(page, "url(", ")")) EXPECT_EQ(url.front(), '#');
}

TEST(Report, NoTableIsCutOff) {
  ReportInput input = full_input();
  input.comparison = Comparison{.grid = "32^3", .methods = {{.key = "a", .name = "a"}}};
  std::string const page = render_report(input);
  EXPECT_EQ(all_between(page, "<table class='errors'", ">").size(), 3U);
  EXPECT_EQ(all_between(page, "<div class='scroll'><table class='errors'", ">").size(), 3U);
  std::string const style = all_between(page, "<style>", "</style>").front();
  std::string const print = style.substr(style.find("@media print"));
  EXPECT_THAT(print, AllOf(HasSubstr(".scroll { overflow: visible;"),
                           HasSubstr(".errors td { white-space: normal; }")))
      << "paper does not scroll";
  // Headers wrap, and where numbers still need more room, a shadow says that there is more.
  for (std::string const& rule : all_between(style, ".errors th", "}")) {
    EXPECT_THAT(rule, Not(HasSubstr("nowrap")));
  }
  std::string const scroll = all_between(style, ".scroll {", "}").front();
  EXPECT_THAT(scroll, AllOf(HasSubstr("overflow-x: auto"), HasSubstr("var(--shadow)")));
}

TEST(Report, NamesOfFramesAreUnique) {
  std::vector<std::string> const ids = all_between(render_report(full_input()), " id='", "'");
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
  EXPECT_EQ(ids.size(), 2U) << "one a chart";
}

TEST(Report, ShowsTheNumbers) {
  std::string const page = render_report(full_input());
  // By hand from the three samples: means 0.3 %, 0.07 %, 2.3333 %; medians 0.2 %, 0.04 %, 2 %.
  for (char const* number :
       {"<b>0.30 %</b>", "<b>0.070 %</b>", "<b>2.33 %</b>", "<b>32³</b>", "<b>3</b>",
        "<td>median</td>\n<td>0.20 %</td>", ">mean error, %</text>", ">10</text>",
        "<td>0.040 %</td>", "<td>2.00 %</td>", "<td>0.60 %</td>", "<td>101 (worst)</td>"}) {
    EXPECT_THAT(page, HasSubstr(number));
  }
  EXPECT_THAT(
      page, AllOf(HasSubstr("S/m"), HasSubstr("steps = 40"), HasSubstr("half_v"),
                  HasSubstr("stage 1, grid 16^3: 40.0 s"), HasSubstr("stage 2, grid 32^3: 40.0 s"),
                  HasSubstr("32^3, step 39: relative L2 error 1.25 %")));
  EXPECT_EQ(all_between(page, "(worst)", "<").size(), 1U);
}

TEST(Report, ColourBarsAreOfTheirPictures) {
  ReportInput input = full_input();
  auto const bars = [&] {
    auto const sources = all_between(render_report(input), "src='", "'");
    return std::vector<std::string>{sources[1], sources[3]};
  };
  auto const before = bars();
  EXPECT_NE(before[0], before[1]);
  input.samples[0].pictures[0].low = -3;  // a range about zero makes no error of it
  EXPECT_EQ(bars(), before);
}

TEST(Report, EndsOfColourBarsCanBeToldApart) {
  ReportInput input = full_input();
  input.samples[0].pictures[0].low = 400;
  input.samples[0].pictures[0].high = 400.25;
  EXPECT_THAT(render_report(input),
              AllOf(HasSubstr("<span>400</span>"), HasSubstr("<span>400.25 S/m</span>")));
}

TEST(Slices, ShowPicturesWithTheirScales) {
  auto const page = render_slices("a < b", {{"flow into", "x- 1 < 2"}}, full_input().samples);
  EXPECT_EQ(nesting_fault(page), "");
  EXPECT_EQ(all_between(page, "src='", "'").size(), 4U);
  EXPECT_THAT(page, AllOf(HasSubstr("<h1>a &lt; b</h1>"), HasSubstr("<span>3 S/m</span>"),
                          HasSubstr("flow into</th>\n<td>x- 1 &lt; 2</td>"),
                          Not(HasSubstr("How training went"))));
}

TEST(Report, FoldsLongTablesOnly) {
  ReportInput input = full_input();
  EXPECT_THAT(render_report(input), HasSubstr("<details open"));
  for (int i = 0; i < 8; ++i) input.errors.push_back({200 + i, 0.001, 0.001, 0.001});
  std::string const page = render_report(input);
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<details open")), HasSubstr("<td>207</td>")));
}

TEST(Report, EscapesEveryText) {
  char const* const nasty = "<b>&\"'\x01\xff";
  char const* const shown = "&lt;b&gt;&amp;&quot;&#39;\\x01\\xff";
  ReportInput input = full_input();
  std::string const before = render_report(input);
  input.title = input.config = nasty;
  input.summary = {{nasty, nasty}};
  input.grid = nasty;
  for (MetricRow& row : input.metrics) row.grid = nasty;
  input.samples[0].title = input.samples[0].note = nasty;
  for (Picture& picture : input.samples[0].pictures) picture.caption = picture.unit = nasty;
  std::string const page = render_report(input);
  EXPECT_EQ(nesting_fault(page), "");
  EXPECT_THAT(page, AllOf(Not(HasSubstr(nasty)), Not(HasSubstr("\x01"))));
  // title twice, config, summary twice, grid, sample title and note, each picture's caption twice
  // and unit, and the notes of the stages in both charts.
  EXPECT_GE(all_between(page, shown, "<").size(), 18U);
}

TEST(Report, EmptyInputGivesAValidPage) {
  std::string const page = render_report({});
  EXPECT_EQ(nesting_fault(page), "");
  EXPECT_THAT(page, AllOf(HasSubstr("No held-out samples"), HasSubstr("No training was recorded"),
                          Not(HasSubstr("<svg"))));
}

TEST(Report, SurvivesAnySingleMissingPart) {
  for (int part = 0; part < 5; ++part) {
    ReportInput input = full_input();
    if (part == 0) input.metrics.clear();
    if (part == 1) input.errors.clear();
    if (part == 2) input.samples.clear();
    if (part == 3) input.metrics = {training_row(0, 0, 0.0, 1.0)};
    if (part == 4) input.metrics = {held_out_row(0, 0, 1.0, 0.0)};
    EXPECT_EQ(nesting_fault(render_report(input)), "") << "part " << part;
  }
}

TEST(Report, NeverPrintsNaNOrInfinity) {
  ReportInput input = full_input();
  input.errors[0] = {100, kNaN, std::numeric_limits<double>::infinity(), kNaN};
  input.metrics[3].loss = std::numeric_limits<double>::infinity();
  input.metrics[4].loss = kNaN;
  input.metrics[5].seconds = kNaN;
  input.metrics.back().energy_gap_mean = -1e-9;
  input.metrics.push_back(training_row(1, 40, kNaN, kNaN));
  input.samples[0].pictures[0].low = kNaN;
  std::string const page = render_report(input);
  EXPECT_EQ(nesting_fault(page), "");
  for (char const* word : {"nan", "NaN", ">inf", "'inf", ",inf", " inf "}) {
    for (std::string const& chart : all_between(page, "<svg", "</svg>")) {
      EXPECT_THAT(chart, Not(HasSubstr(word)));
    }
    for (std::string const& cell : all_between(page, "<td>", "</td>")) {
      EXPECT_THAT(cell, Not(HasSubstr(word)));
    }
  }
  EXPECT_THAT(page, AllOf(HasSubstr("1 of 3 samples"), HasSubstr("100 (worst)"),
                          HasSubstr("loss that is not finite: 3"), HasSubstr("<b>0.35 %</b>")));
}

TEST(Report, LongRunsAreThinnedButKeepTheirExtremes) {
  ReportInput input;
  std::int64_t const steps = 50000;
  for (std::int64_t i = 0; i < steps; ++i) {
    double const loss = i == 31234 ? 1.5 : 1 + 0.1 * std::sin(0.7 * static_cast<double>(i));
    input.metrics.push_back(training_row(0, i, static_cast<double>(i), loss));
  }
  std::string const page = render_report(input);
  std::size_t longest = 0;
  double highest = 300;  // on the page: y grows downwards
  for (std::string const& points : all_between(page, "points='", "'")) {
    longest = std::max<std::size_t>(longest, std::count(points.begin(), points.end(), ','));
    for (std::string const& y : all_between(points + " ", ",", " ")) {
      highest = std::min(highest, std::stod(y));
    }
  }
  EXPECT_LE(longest, 1500U);
  EXPECT_GT(longest, 1400U) << "of each run the lowest and the highest";
  EXPECT_LT(highest, 24) << "the one high loss should leave the frame";
}

TEST(Report, AStageOfOneStepIsSeen) {
  ReportInput input;
  input.metrics.push_back(training_row(0, 1, 1, 0.5));
  EXPECT_THAT(render_report(input), HasSubstr("<circle class='mark s0'"));
}

// Two stages fall from 0.5 and from -7 by halves of 0.004: the same picture, over a decade and
// more.
TEST(Report, LossesAreShownAboveTheLowestOfTheirStage) {
  ReportInput input;
  for (int stage = 0; stage < 2; ++stage) {
    for (int i = 0; i < 8; ++i) {
      double const loss = (stage == 0 ? 0.496 : -7.004) + 0.004 * std::pow(0.5, i);
      input.metrics.push_back(training_row(stage, i, 10 * stage + i, loss));
    }
  }
  std::string const page = render_report(input);
  EXPECT_THAT(page,
              AllOf(HasSubstr(">loss − lowest of the stage</text>"), HasSubstr(">1e-3</text>"),
                    HasSubstr(">1e-4</text>"), HasSubstr("which is -7.00397 in the last")));
  std::vector<std::vector<std::string>> heights;
  for (std::string const& points : all_between(page, "points='", "'")) {
    heights.push_back(all_between(points + " ", ",", " "));
  }
  ASSERT_EQ(heights.size(), 2U);
  EXPECT_EQ(heights[0], heights[1]);
  EXPECT_EQ(heights[0].back(), "258.0") << "the lowest stands at the lower edge";
  EXPECT_LT(std::stod(heights[0].front()), 60);
  for (std::size_t i = 1; i < 7; ++i) {
    EXPECT_GT(std::stod(heights[0][i]), std::stod(heights[0][i - 1]) + 20) << i;
  }
}

}  // namespace report_test
}  // namespace voxcycle
