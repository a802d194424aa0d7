// SPDX-License-Identifier: BSD-3-Clause
#include "study/study_charts.hpp"

#include "voxcycle/core/text.hpp"
#include "voxcycle/report/html.hpp"
#include "voxcycle/report/svg_chart.hpp"

#include <algorithm>
#include <cmath>

namespace voxcycle {
namespace {

using html::element;

/// A range of times this wide is drawn on a logarithmic axis.
constexpr double kWideRange = 20;

/// What stands on the x axis of all three charts.
struct Abscissa {
  char const* id;
  std::string label;
  double StudyPoint::*member;
  double unit;  // of the label
};

Abscissa time_abscissa(double longest) {
  auto const [name, seconds] = svg::time_unit(longest);
  return {"time", std::string("training time, ") + name, &StudyPoint::seconds, seconds};
}

Abscissa work_abscissa(double maximum) {
  if (maximum < 1e9) return {"work", "voxels processed, millions", &StudyPoint::work, 1e6};
  return {"work", "voxels processed, billions", &StudyPoint::work, 1e9};
}

double largest(std::vector<StudyGroup> const& groups, double StudyPoint::*member) {
  double maximum = 0;
  for (auto const& group : groups) {
    for (auto const* run : group.runs) {
      for (auto const& point : run->curve) {
        if (std::isfinite(point.*member)) maximum = std::max(maximum, point.*member);
      }
    }
  }
  return maximum;
}

svg::Axis x_axis(std::vector<svg::Series> const& series) {
  double low = INFINITY;
  double high = 0;
  for (auto const& one : series) {
    for (auto const& point : one.points) {
      if (!(point.x > 0) || !std::isfinite(point.x)) continue;
      low = std::min(low, point.x);
      high = std::max(high, point.x);
    }
  }
  if (high == 0) return svg::linear_axis(0, 1);
  return high > kWideRange * low ? svg::log_axis(low, high) : svg::linear_axis(0, high);
}

/// Over all evaluations but those beyond the limit of divergence, which would flatten the others.
svg::Axis y_axis(std::vector<StudyGroup> const& groups, StudyMetric metric) {
  double low = INFINITY;
  double high = 0;
  auto const add = [&](std::vector<StudyPoint> const& curve, auto const& drawn) {
    double const limit = divergence_limit(curve);
    for (auto const& point : curve) {
      double const value = 100 * point.error(metric);
      bool const counts = drawn(point) && point.energy_norm <= limit;
      if (!counts || !(value > 0) || !std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  };
  for (auto const& group : groups) {
    add(group.curve, [](StudyPoint const&) { return true; });
    for (auto const* run : group.runs) {
      add(run->curve, [&](StudyPoint const& point) { return point.grid == group.grid; });
    }
  }
  return high == 0 ? svg::linear_axis(0, 1) : svg::log_axis(low, high);
}

std::vector<svg::Point> points_of(std::vector<StudyPoint> const& curve, std::string const& label,
                                  std::string const& grid, bool finest, StudyMetric metric,
                                  Abscissa const& x) {
  std::vector<svg::Point> points;
  for (auto const& point : curve) {
    if ((point.grid == grid) != finest) continue;
    points.push_back({point.*x.member / x.unit, 100 * point.error(metric), point.stage,
                      format("%s, stage %d at %s after %s: %s", label.c_str(), point.stage + 1,
                             point.grid.c_str(), format_seconds(point.seconds).c_str(),
                             format_percent(point.error(metric)).c_str())});
  }
  return points;
}

svg::Series main_line(std::vector<StudyGroup> const& groups, std::size_t k) {
  return svg::curve(name_of(groups[k]), k);
}

std::string legend_of(std::vector<StudyGroup> const& groups) {
  std::vector<svg::Series> lines;
  for (std::size_t k = 0; k < groups.size(); ++k) lines.push_back(main_line(groups, k));
  return svg::legend(lines);
}

/// @param id  unique among the charts over the same abscissa
std::string error_chart(std::vector<StudyGroup> const& groups, StudyMetric metric,
                        std::string const& id, std::string const& name, Abscissa const& x) {
  svg::Chart chart;
  chart.id = x.id + ("-" + id);
  chart.title = name;
  chart.x_label = x.label;
  chart.y_label = name + ", %";
  std::vector<svg::Series> behind;
  for (std::size_t k = 0; k < groups.size(); ++k) {
    auto const& group = groups[k];
    auto line = main_line(groups, k);
    behind.push_back({"", line.color, false, true,
                      points_of(group.curve, group.label, group.grid, false, metric, x)});
    behind.back().dash = 1;
    for (auto const* run : group.runs) {
      if (group.runs.size() < 2) break;
      behind.push_back({"", line.color, false, true,
                        points_of(run->curve, run->label, group.grid, true, metric, x)});
    }
    line.points = points_of(group.curve, group.label, group.grid, true, metric, x);
    chart.series.push_back(std::move(line));
  }
  chart.series.insert(chart.series.begin(), behind.begin(), behind.end());
  chart.x = x_axis(chart.series);
  if (chart.x.logarithmic) chart.x_label += ", logarithmic";
  chart.y = y_axis(groups, metric);
  return svg::figure(chart, "");
}

std::string charts_against(std::vector<StudyGroup> const& groups, Abscissa const& x) {
  return element("div", std::string("class='charts by-") + x.id + "'",
                 error_chart(groups, StudyMetric::rel_l2, "l", "Relative L2 error", x) +
                     error_chart(groups, StudyMetric::energy_gap, "gap", "Energy gap", x) +
                     error_chart(groups, StudyMetric::energy_norm, "norm", "Energy-norm error", x));
}

std::string choice(char const* id, char const* text, char const* checked) {
  return format("<input type='radio' name='axis' id='axis-%s'%s/>\n", id, checked) +
         element("label", format("for='axis-%s' class='switch'", id), text);
}

}  // namespace

std::string name_of(StudyGroup const& group) {
  auto const divergence = divergence_of(group);
  return divergence.empty() ? group.label : group.label + " (" + divergence + ")";
}

std::string render_study_curves(std::vector<StudyGroup> const& all) {
  std::vector<StudyGroup> groups;
  for (auto const& group : all) {
    if (!group.curve.empty()) groups.push_back(group);
  }
  std::string const title = "Held-out errors along the runs";
  if (groups.empty()) {
    return html::section(title, element("p", "class='quiet'", "No run is finished yet."));
  }
  std::string content = legend_of(groups);
  auto const time = time_abscissa(largest(groups, &StudyPoint::seconds));
  double const max_work = largest(groups, &StudyPoint::work);
  if (max_work > 0) {
    content += choice("time", "against training time", " checked='checked'") +
               choice("work", "against work", "") + charts_against(groups, time) +
               charts_against(groups, work_abscissa(max_work));
  } else {
    content += charts_against(groups, time);
  }
  content += element(
      "p", "class='quiet'",
      "Means over samples that training never sees. Strong lines: errors on the finest grid of a "
      "run; dashed pale lines: on the coarser grids of earlier stages, which are other problems. "
      "Where runs differ only in their seed, the strong line is their mean and the thin lines are "
      "the runs. Arrows at the upper edge: errors beyond it. Untrained networks stand at the left "
      "edge of a logarithmic axis.");
  return html::section(title, content);
}

}  // namespace voxcycle
