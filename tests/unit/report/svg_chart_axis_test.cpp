// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/report/svg_chart_axis.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace voxcycle::svg {
namespace svg_chart_axis_test {

/// How many of the labels, but for zero's, have an exponent.
long with_exponent(Axis const& axis) {
  return std::count_if(axis.ticks.begin(), axis.ticks.end(), [](Tick const& tick) {
    return tick.label.find('e') != std::string::npos || tick.value == 0;
  });
}

TEST(Axis, LabelsHaveOneFormat) {
  for (auto const& axis :
       {log_axis(2e-5, 0.5), log_axis(1e-9, 1e3), log_axis(3e-5, 5e-5), log_axis(2, 3e7),
        linear_axis(0, 4e-4), linear_axis(0, 3e7), linear_axis(4.30e-7, 4.309e-7)}) {
    EXPECT_EQ(with_exponent(axis), static_cast<long>(axis.ticks.size())) << axis.ticks[0].label;
  }
  for (auto const& axis : {log_axis(1e-3, 300), log_axis(0.02, 20), linear_axis(5, 10),
                           linear_axis(0.496, 0.5), linear_axis(-0.02, 1.5)}) {
    EXPECT_EQ(with_exponent(axis), std::count_if(axis.ticks.begin(), axis.ticks.end(),
                                                 [](auto const& tick) { return tick.value == 0; }))
        << axis.ticks[0].label;
  }
}

TEST(Axis, LabelsAreTheirValues) {
  for (auto const& axis : {log_axis(2e-5, 0.5), log_axis(0.02, 20), linear_axis(0, 4e-4),
                           linear_axis(4.30e-7, 4.309e-7), linear_axis(0.496, 0.5)}) {
    std::set<std::string> labels;
    for (auto const& tick : axis.ticks) {
      EXPECT_NEAR(std::stod(tick.label), tick.value, 1e-7 * axis.high);
      labels.insert(tick.label);
    }
    EXPECT_EQ(labels.size(), axis.ticks.size());
    EXPECT_GE(labels.size(), 3U);
  }
}

}  // namespace svg_chart_axis_test
}  // namespace voxcycle::svg
