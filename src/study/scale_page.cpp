// SPDX-License-Identifier: BSD-3-Clause
// A scaling study as a page.
#include "voxcycle/core/text.hpp"
#include "voxcycle/report/html.hpp"
#include "voxcycle/report/svg_chart.hpp"
#include "voxcycle/study/runner.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "study/scale_report.hpp"

namespace voxcycle {
namespace {

using html::element;
using html::escape;

/// A mark that tells predictions from measurements wherever they stand.
constexpr char kPredicted[] = "predicted";
constexpr int kDotted = 2;

std::string cell(std::string const& text) {
  return element("td", "", text);
}

std::string cell(std::string const& text, std::string const& range) {
  return element("td", "", text + element("small", "", range));
}

std::string percent(double fraction, int decimals = 0) {
  return format("%.*f %%", decimals, 100.0 * fraction);
}

std::string count(std::int64_t value) {
  return std::to_string(value);
}

svg::Point point(ScaleRun const& run, double efficiency, std::string const& what) {
  return {static_cast<double>(run.processes), 100.0 * efficiency, 0,
          what + ", " + process_count_text(run.processes) + ": " + percent(efficiency, 1)};
}

svg::Series predicted_line(std::string const& name, int color,
                           std::vector<PredictedRow> const& rows) {
  svg::Series line{name + ", " + kPredicted, color, true, false, {}, kDotted};
  for (auto const& row : rows) line.points.push_back(point(row.run, row.efficiency, line.name));
  return line;
}

/// The mean, and its range as thin lines.
void add_measured(svg::Chart& chart, ScaleTable const& table, int color) {
  svg::Series low{"", color, false, true, {}}, high = low;
  svg::Series line = svg::curve(table.name, static_cast<std::size_t>(color));
  for (auto const& row : table.rows) {
    line.points.push_back(point(row.run, row.efficiency.mean, table.name));
    low.points.push_back(point(row.run, row.efficiency.low, table.name));
    high.points.push_back(point(row.run, row.efficiency.high, table.name));
  }
  chart.series.insert(chart.series.end(), {low, high, line});
}

/// Axes over all points, with the numbers of processes at the lower one.
std::string figure(svg::Chart chart) {
  std::set<double> processes;
  double highest = 100.0;
  std::vector<svg::Series> named;
  for (auto const& series : chart.series) {
    for (auto const& at : series.points) {
      processes.insert(at.x);
      highest = std::max(highest, at.y);
    }
    if (!series.name.empty()) named.push_back(series);
  }
  if (processes.empty()) return "";
  chart.x_label = "processes";
  chart.y_label = "efficiency, %";
  chart.x = svg::log_axis(*processes.begin(), *processes.rbegin());
  chart.x.ticks.clear();
  for (double const number : processes) chart.x.ticks.push_back({number, format("%.0f", number)});
  chart.y = svg::linear_axis(0.0, highest);
  return svg::figure(chart, svg::legend(named));
}

std::string measured_chart(ScaleStudy const& study) {
  svg::Chart chart;
  chart.id = "efficiency";
  chart.title = "Efficiency";
  int color = 0;
  for (auto const& table : study.tables) {
    if (table.rows.empty()) continue;
    add_measured(chart, table, color);
    if (!table.beside.empty()) {
      chart.series.push_back(predicted_line(table.name, color, table.beside));
    }
    ++color;
  }
  return figure(std::move(chart));
}

std::string predicted_chart(ScaleStudy const& study) {
  svg::Chart chart;
  chart.id = "efficiency-predicted";
  chart.title = "Efficiency, predicted";
  int color = 0;
  for (auto const& table : study.tables) {
    if (table.rows.empty()) continue;  // one number of processes
    chart.series.push_back(predicted_line(table.name, color++, table.predicted));
  }
  return figure(std::move(chart));
}

std::string measured_row(ScaleRow const& row) {
  auto const& [mean, low, high] = row.seconds;
  return element("tr", "",
                 cell(count(row.run.processes)) + cell(count(row.run.batch)) +
                     cell(count(static_cast<std::int64_t>(row.turns.size()))) +
                     cell(step_time(mean), step_time(low) + " – " + step_time(high)) +
                     cell(format("%.3g", static_cast<double>(row.run.batch) / mean)) +
                     cell(format("%.2f ×", row.speedup)) +
                     cell(percent(row.efficiency.mean, 1), percent(row.efficiency.low, 1) + " – " +
                                                               percent(row.efficiency.high, 1)) +
                     cell(percent(row.mean.computing())) + cell(percent(row.mean.waiting)) +
                     cell(percent(row.mean.reducing)) + cell(percent(row.mean.input)));
}

std::string measured_table(ScaleTable const& table) {
  std::string rows;
  for (auto const& row : table.rows) rows += measured_row(row);
  return element("h3", "", escape(table.title)) +
         html::error_table({"processes", "batch", "turns", "a step", "samples/s", "speed-up",
                            "efficiency", "computing", "waiting", "reducing", "input"},
                           rows);
}

/// Predicted beside measured, so that a reader sees what the model is worth.
std::string check_table(ScaleTable const& table) {
  std::string rows;
  for (std::size_t k = 0; k < table.rows.size(); ++k) {
    auto const& row = table.rows[k];
    double const predicted = table.beside[k].seconds;
    rows += element("tr", "",
                    cell(count(row.run.processes)) + cell(count(row.run.batch)) +
                        cell(step_time(row.seconds.mean)) + cell(step_time(predicted)) +
                        cell(format("%+.1f %%", 100.0 * (predicted / row.seconds.mean - 1.0))) +
                        cell(percent(row.efficiency.mean, 1)) +
                        cell(percent(table.beside[k].efficiency, 1)));
  }
  return element("h3", "", escape(table.title) + ", predicted beside measured") +
         html::error_table({"processes", "batch", "a step, measured", "a step, predicted", "off by",
                            "efficiency, measured", "efficiency, predicted"},
                           rows);
}

std::string predicted_table(ScaleTable const& table) {
  std::string rows;
  for (auto const& row : table.predicted) {
    rows += element("tr", "",
                    cell(count(row.run.processes)) + cell(count(row.run.together)) +
                        cell(count(row.run.batch)) + cell(count(row.units)) +
                        cell(step_time(row.seconds)) + cell(format("%.2f ×", row.speedup)) +
                        cell(percent(row.efficiency, 1)) + cell(percent(row.reducing, 1)) +
                        cell(percent(row.exchanging, 1)));
  }
  return element("h3", "", escape(table.title) + ", predicted") +
         html::error_table({"processes", "a sample", "batch", "micro-batches in turn",
                            "a step, predicted", "speed-up, predicted", "efficiency, predicted",
                            "reducing, predicted", "exchanging, predicted"},
                           rows);
}

/// A table of each kind of scaling that was measured.
std::string tables(ScaleStudy const& study,
                   std::function<std::string(ScaleTable const&)> const& render) {
  std::string text;
  for (auto const& table : study.tables) {
    if (!table.rows.empty()) text += render(table);
  }
  return text;
}

std::string render_measured(ScaleStudy const& study) {
  auto text = element("div", "class='charts'", measured_chart(study));
  text += tables(study, measured_table);
  text += element(
      "p", "class='quiet'",
      "Means over turns, in which all numbers of processes are measured one after the other, and "
      "ranges from the least to the greatest turn (thin lines). Efficiency: samples a second, "
      "relative to the first line's in the same turn, by the ratio of processes. Where the time "
      "of a step goes, means over the processes: waiting, for the last process at sums; reducing, "
      "the sums themselves; input, for samples; computing, the rest.");
  return html::section("Measured", text);
}

std::string render_predicted(ScaleStudy const& study) {
  if (!study.model) return "";
  auto text = element("p", "", escape(model_text(*study.model)));
  text += tables(study, check_table);
  text += element("div", "class='charts'", predicted_chart(study));
  for (auto const& table : study.tables) text += predicted_table(table);
  return html::section("Predicted, not measured", text);
}

}  // namespace

std::string render_scale(ScaleStudy const& study) {
  auto const title = html::grid("voxcycle scale: training steps at " + study.grid);
  std::string body = element("h1", "", title);
  for (auto const& warning : study.warnings) body += element("p", "class='warn'", escape(warning));
  for (auto const& table : study.tables) {
    if (auto const finding = finding_of(table); !finding.empty()) {
      body += element("p", "", escape(finding));
    }
  }
  body += render_measured(study);
  body += render_predicted(study);
  body += html::summary({{"step", "grid " + study.grid + ", " + study.input},
                         {"on", join({study.settings.begin(), study.settings.end()}, " | ")},
                         {"turns", std::to_string(study.repeats)}});
  body += html::folded("Resolved configuration", study.config);
  return html::page(title, body);
}

}  // namespace voxcycle
