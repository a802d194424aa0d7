// SPDX-License-Identifier: BSD-3-Clause
#include "evaluate/report_charts.hpp"

#include "voxcycle/core/median.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/report/html.hpp"
#include "voxcycle/report/svg_chart.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace voxcycle {
namespace {

constexpr std::size_t kMaxPoints = 1500;    // of a line; more do not show
constexpr std::size_t kMedianPoints = 120;  // of the line through the noisy losses

bool is_training_row(MetricRow const& row) {
  return std::isnan(row.rel_l2_mean) && std::isnan(row.energy_gap_mean);
}

/// What both charts share: the time axis with its stages.
struct Timeline {
  svg::TimeUnit unit{"s", 1};
  svg::Axis axis;
  std::vector<svg::Band> stages;
};

Timeline timeline_of(std::vector<MetricRow> const& metrics) {
  Timeline timeline;
  double total = 0;
  for (MetricRow const& row : metrics) {
    if (std::isfinite(row.seconds)) total = std::max(total, row.seconds);
  }
  timeline.unit = svg::time_unit(total);
  timeline.axis = svg::linear_axis(0, total > 0 ? total / timeline.unit.seconds : 1);
  double begin = 0;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (i + 1 < metrics.size() && metrics[i + 1].stage == metrics[i].stage) continue;
    double const end = std::isfinite(metrics[i].seconds) ? metrics[i].seconds : begin;
    timeline.stages.push_back(
        {begin / timeline.unit.seconds, end / timeline.unit.seconds, metrics[i].grid,
         format("stage %d, grid %s: ", metrics[i].stage + 1, metrics[i].grid.c_str()) +
             format_seconds(end - begin)});
    begin = end;
  }
  return timeline;
}

/// Medians of runs of losses within a stage: the line that the eye looks for in the noise.
std::vector<svg::Point> running_median(std::vector<svg::Point> const& points) {
  std::size_t const run = std::max<std::size_t>(points.size() / kMedianPoints, 1);
  std::vector<svg::Point> medians;
  for (std::size_t begin = 0; begin < points.size();) {
    std::size_t end = begin + 1;
    while (end < points.size() && end < begin + run &&
           points[end].segment == points[begin].segment) {
      ++end;
    }
    std::vector<double> losses;
    for (std::size_t i = begin; i < end; ++i) losses.push_back(points[i].y);
    medians.push_back(
        {(points[begin].x + points[end - 1].x) / 2, median(losses), points[begin].segment, ""});
    begin = end;
  }
  return medians;
}

/// A logarithmic axis over nearly all positive values, from 0 to 1 without one: a few spikes must
/// not flatten the rest of the line.
/// @param ignored_share  at each end
svg::Axis axis_for(std::vector<svg::Point> const& points, double ignored_share) {
  std::vector<double> values;
  for (svg::Point const& point : points) {
    if (std::isfinite(point.y) && point.y > 0) values.push_back(point.y);
  }
  if (values.empty()) return svg::linear_axis(0, 1);
  std::sort(values.begin(), values.end());
  auto const ignored = static_cast<std::size_t>(ignored_share * static_cast<double>(values.size()));
  return svg::log_axis(values[ignored], values[values.size() - 1 - ignored]);
}

/// The lowest of each stage.
std::map<int, double> lowest_of_stages(std::vector<svg::Point> const& points) {
  std::map<int, double> lowest;
  for (svg::Point const& point : points) {
    auto const [at, first] = lowest.emplace(point.segment, point.y);
    if (!first) at->second = std::min(at->second, point.y);
  }
  return lowest;
}

/// What the points have above the lowest of their stage, at least `least`.
std::vector<svg::Point> above(std::map<int, double> const& lowest, std::vector<svg::Point> points,
                              double least) {
  for (svg::Point& point : points) {
    point.y = std::max(point.y - lowest.at(point.segment), least);
  }
  return points;
}

std::string loss_chart(std::vector<MetricRow> const& metrics, Timeline const& timeline) {
  std::vector<svg::Point> points;
  std::size_t lost = 0;
  for (MetricRow const& row : metrics) {
    if (std::isfinite(row.loss)) {
      points.push_back({row.seconds / timeline.unit.seconds, row.loss, row.stage, ""});
    } else if (is_training_row(row)) {
      ++lost;
    }
  }
  std::string warning;
  if (lost > 0) {
    warning = html::element("p", "class='warn'",
                            format("Training steps with a loss that is not finite: %zu.", lost));
  }
  if (points.empty()) {
    return warning + html::element("p", "class='quiet'", "No training loss was recorded.");
  }
  svg::Chart chart;
  chart.id = "loss-frame";
  chart.x_label = std::string("training time, ") + timeline.unit.name;
  bool const noisy = points.size() > 2 * kMedianPoints;
  auto const main = noisy ? running_median(points) : points;
  auto const lowest = lowest_of_stages(main);
  chart.title = "Training loss above its lowest value";
  chart.y_label = "loss − lowest of the stage";
  chart.x = timeline.axis;
  chart.y = axis_for(above(lowest, main, 0), 0.01);
  chart.bands = timeline.stages;
  auto const thin = above(lowest, svg::thin_out(points, kMaxPoints), chart.y.low);
  chart.series.push_back({"each step", 0, false, noisy, thin});
  if (noisy) {
    chart.series.push_back({"running median", 0, false, false, above(lowest, main, chart.y.low)});
  }
  return svg::figure(
      chart, svg::legend(chart.series) + warning +
                 "Bands are stages, headed by their grid. An energy loss levels off at the energy "
                 "of the exact solution, not at zero: drawn is what it has above the lowest " +
                 (noisy ? "running median" : "loss") +
                 format(" of its stage, which is %.6g in the last. What is at or below that "
                        "stands at the lower edge.",
                        lowest.rbegin()->second));
}

std::string error_chart(std::vector<MetricRow> const& metrics, Timeline const& timeline) {
  std::pair<char const*, double MetricRow::*> const figures[] = {
      {"relative L2 error", &MetricRow::rel_l2_mean},
      {"energy gap", &MetricRow::energy_gap_mean},
      {"energy-norm error", &MetricRow::energy_norm_error_mean},
  };
  svg::Chart chart;
  std::vector<svg::Point> all;
  std::size_t number = 0;
  for (auto const& [name, member] : figures) {
    svg::Series series = svg::curve(name, number++);
    for (MetricRow const& row : metrics) {
      double const value = row.*member;
      if (!std::isfinite(value)) continue;
      series.points.push_back({row.seconds / timeline.unit.seconds, 100 * value, row.stage,
                               format("%s, step %ld: %s %s", row.grid.c_str(), long(row.step), name,
                                      format_percent(value).c_str())});
      all.push_back(series.points.back());
    }
    chart.series.push_back(std::move(series));
  }
  if (all.empty()) {
    return html::element("p", "class='quiet'", "No held-out errors were recorded while training.");
  }
  chart.id = "error-frame";
  chart.x_label = std::string("training time, ") + timeline.unit.name;
  chart.y_label = "mean error, %";
  chart.x = timeline.axis;
  chart.y = axis_for(all, 0);
  chart.title = "Held-out errors";
  chart.bands = timeline.stages;
  return svg::figure(chart,
                     svg::legend(chart.series) +
                         "Means over samples that training never sees, on the grid of the stage.");
}

}  // namespace

std::string render_charts(std::vector<MetricRow> const& metrics) {
  std::string content =
      html::element("p", "class='quiet'", "No training was recorded with this report.");
  if (!metrics.empty()) {
    Timeline const timeline = timeline_of(metrics);
    content = html::element("div", "class='charts'",
                            loss_chart(metrics, timeline) + error_chart(metrics, timeline));
  }
  return html::section("How training went", content);
}

}  // namespace voxcycle
