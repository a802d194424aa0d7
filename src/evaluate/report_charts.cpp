// SPDX-License-Identifier: BSD-3-Clause
#include "evaluate/report_charts.hpp"

#include "voxcycle/core/median.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/report/html.hpp"
#include "voxcycle/report/svg_chart.hpp"

#include <algorithm>
#include <cmath>
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

/// The range of nearly all values: a few spikes must not flatten the rest of the line.
svg::Axis axis_for(std::vector<svg::Point> const& points, double ignored_share) {
  std::vector<double> values;
  for (svg::Point const& point : points) {
    if (std::isfinite(point.y)) values.push_back(point.y);
  }
  std::sort(values.begin(), values.end());
  auto const ignored = static_cast<std::size_t>(ignored_share * static_cast<double>(values.size()));
  double const low = values.front();
  double const high = values[values.size() - 1 - ignored];
  return low > 0 ? svg::log_axis(low, high) : svg::linear_axis(low, high);
}

std::string scale_name(svg::Axis const& axis) {
  return axis.logarithmic ? "logarithmic scale" : "linear scale";
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
  chart.x = timeline.axis;
  chart.y = axis_for(points, 0.01);
  chart.title = "Training loss, " + scale_name(chart.y);
  chart.bands = timeline.stages;
  bool const noisy = points.size() > 2 * kMedianPoints;
  chart.series.push_back({"each step", 0, false, noisy, svg::thin_out(points, kMaxPoints)});
  if (noisy) chart.series.push_back({"running median", 0, false, false, running_median(points)});
  return svg::figure(chart,
                     svg::legend(chart.series) + warning +
                         "Bands are stages, headed by their grid. An energy loss levels off at "
                         "the energy of the exact solution, not at zero.");
}

std::string error_chart(std::vector<MetricRow> const& metrics, Timeline const& timeline) {
  std::pair<char const*, double MetricRow::*> const figures[] = {
      {"relative L2 error", &MetricRow::rel_l2_mean},
      {"energy gap", &MetricRow::energy_gap_mean},
      {"energy-norm error", &MetricRow::energy_norm_error_mean},
  };
  svg::Chart chart;
  std::vector<svg::Point> all;
  int color = 0;
  for (auto const& [name, member] : figures) {
    svg::Series series{name, color++, true, false, {}};
    for (MetricRow const& row : metrics) {
      double const value = row.*member;
      if (!std::isfinite(value)) continue;
      series.points.push_back({row.seconds / timeline.unit.seconds, 100 * value, row.stage,
                               format("%s, step %ld: %s %s", row.grid.c_str(), long(row.step), name,
                                      format_percent(value).c_str())});
      // A gap of zero or below (rounding) has no place on a logarithmic axis.
      if (value > 0) all.push_back(series.points.back());
    }
    chart.series.push_back(std::move(series));
  }
  if (all.empty()) {
    return html::element("p", "class='quiet'", "No held-out errors were recorded while training.");
  }
  chart.id = "error-frame";
  chart.x_label = std::string("training time, ") + timeline.unit.name;
  chart.y_unit = " %";
  chart.x = timeline.axis;
  chart.y = axis_for(all, 0);
  chart.title = "Held-out errors, " + scale_name(chart.y);
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
