// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/report/svg_chart.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle::svg {
namespace svg_chart_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::size_t count(std::string const& text, std::string const& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// A falling line of `points` points on [0, 1].
Chart chart_of(int points) {
  Chart chart;
  chart.id = "a-frame";
  chart.x_label = "time, s";
  chart.y_label = "a < b, %";
  chart.x = linear_axis(0, 1);
  chart.y = linear_axis(0, 1);
  chart.series = {curve("a line", 0)};
  for (int k = 0; k < points; ++k) {
    double const x = static_cast<double>(k) / (points - 1);
    chart.series[0].points.push_back({x, 1 - x, 0, "point " + std::to_string(k) + "."});
  }
  return chart;
}

TEST(Curve, DiffersFromAllOthersInMoreThanColour) {
  std::set<std::pair<int, int>> kinds;
  for (std::size_t k = 0; k < kColors * kDashes; ++k) {
    auto const one = curve("", k);
    EXPECT_TRUE(one.markers);
    EXPECT_NE(one.dash, curve("", k + 1).dash) << k;
    kinds.emplace(one.color, one.dash);
  }
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(kColors * kDashes));
}

TEST(Chart, AxesHaveTitles) {
  EXPECT_THAT(render(chart_of(5)), AllOf(HasSubstr(">time, s</text>"), HasSubstr("rotate(-90)"),
                                         HasSubstr(">a &lt; b, %</text>")));
}

// Numbers of 7.2 pixels a character end 7 pixels left of the plot; the axis' title takes 16.
TEST(Chart, LabelsOfTheLeftAxisAreNotCutOff) {
  auto chart = chart_of(5);
  for (auto const& axis : {linear_axis(0, 1), linear_axis(4.30e-7, 4.309e-7)}) {
    chart.y = axis;
    auto const page = render(chart);
    for (auto const& tick : axis.ticks) {
      std::string const label = "' text-anchor='end'>" + tick.label;
      auto const at = page.find(label);
      ASSERT_NE(at, std::string::npos);
      double const x = std::stod(page.substr(page.rfind("x='", at) + 3));
      EXPECT_GE(x, 16 + 7.2 * static_cast<double>(tick.label.size())) << tick.label;
    }
  }
  EXPECT_GT(chart.y.ticks.back().label.size(), 7U) << "a label that takes more than usual";
}

TEST(Chart, LabelsOfTheLowerAxisKeepApart) {
  auto chart = chart_of(5);
  chart.x = log_axis(1, 4096);
  chart.x.ticks.clear();
  for (int n = 1; n <= 4096; n *= 2) chart.x.ticks.push_back({double(n), std::to_string(n)});
  auto const page = render(chart);
  EXPECT_THAT(
      page, AllOf(HasSubstr(">1</text>"), Not(HasSubstr(">2</text>")), HasSubstr(">4096</text>")));
  std::vector<std::pair<double, double>> ends;
  std::string const mark = "' y='276.0' text-anchor='middle'>";
  for (auto at = page.find(mark); at != std::string::npos; at = page.find(mark, at + 1)) {
    double const middle = std::stod(page.substr(page.rfind('\'', at - 1) + 1));
    auto const begin = at + mark.size();
    double const half = 7.2 / 2 * static_cast<double>(page.find('<', begin) - begin);
    ends.emplace_back(middle - half, middle + half);
  }
  EXPECT_GE(ends.size(), 6U);
  for (std::size_t k = 1; k < ends.size(); ++k) EXPECT_GT(ends[k].first, ends[k - 1].second);
}

TEST(Chart, MarkersOfDensePointsAreThinnedButTheLastIsThere) {
  auto const sparse = render(chart_of(20));
  EXPECT_EQ(count(sparse, "class='mark"), 20U);
  auto const dense = render(chart_of(400));
  EXPECT_LT(count(dense, "class='mark"), 60U);
  EXPECT_THAT(dense, AllOf(HasSubstr("point 0."), HasSubstr("point 399.")));
}

}  // namespace svg_chart_test
}  // namespace voxcycle::svg
