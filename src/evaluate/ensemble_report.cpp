// SPDX-License-Identifier: BSD-3-Clause
// An ensemble's evaluation for a terminal, for programs and as a page.
#include "voxcycle/core/json.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/evaluate/ensemble.hpp"
#include "voxcycle/report/html.hpp"
#include "voxcycle/report/svg_chart.hpp"

#include <algorithm>
#include <cmath>

namespace voxcycle {
namespace {

/// A line of the table: whose errors these are.
struct NamedErrors {
  std::string name;
  Evaluation const& errors;
};

std::vector<NamedErrors> rows_of(EnsembleEvaluation const& e) {
  std::vector<NamedErrors> rows;
  for (std::size_t k = 0; k < e.members.size(); ++k) {
    rows.push_back({"member " + std::to_string(k + 1), e.members[k]});
  }
  if (e.mean) rows.push_back({"mean of them", *e.mean});
  return rows;
}

Json json_of(Evaluation const& e) {
  return Json::object({{"grid", e.grid},
                       {"samples", e.samples.size()},
                       {"weights", e.weights},
                       {"rel_l2_mean", e.rel_l2_mean},
                       {"rel_l2_max", e.rel_l2_max},
                       {"energy_gap_mean", e.energy_gap_mean},
                       {"energy_norm_error_mean", e.energy_norm_error_mean}});
}

/// Error against spread, a marker a sample.
std::string calibration(EnsembleEvaluation const& e) {
  svg::Series series = svg::curve("a held-out sample", 0);
  std::vector<double> all_x, all_y;
  for (std::size_t k = 0; k < e.spread.size(); ++k) {
    double const x = 100.0 * e.spread[k], y = 100.0 * e.mean->samples[k].rel_l2;
    if (!(x > 0.0 && y > 0.0 && std::isfinite(x) && std::isfinite(y))) continue;
    series.points.push_back(
        {x, y, static_cast<int>(k),
         format("sample %zu: spread %s, error %s", k, format_percent(x / 100.0).c_str(),
                format_percent(y / 100.0).c_str())});
    all_x.push_back(x);
    all_y.push_back(y);
  }
  if (series.points.empty()) return "";
  svg::Chart chart;
  chart.id = "calibration";
  chart.title = "Error of the mean against the members' spread";
  chart.x_label = "spread, % of the mean's size";
  chart.y_label = "relative L2 error of the mean, %";
  auto const axis = [](std::vector<double> const& values) {
    auto const [low, high] = std::minmax_element(values.begin(), values.end());
    return svg::log_axis(*low, *high);
  };
  chart.x = axis(all_x);
  chart.y = axis(all_y);
  chart.series.push_back(series);
  return svg::figure(chart, svg::legend(chart.series) +
                                "The spread is the standard deviation over the "
                                "members at each node, and needs no reference.");
}

}  // namespace

std::string ensemble_table(EnsembleEvaluation const& e) {
  std::string text = format("%-13s %-7s %14s %14s %18s\n", "", "grid", "relative L2", "energy gap",
                            "energy-norm error");
  for (auto const& [name, errors] : rows_of(e)) {
    text += format("%-13s %-7s %14s %14s %18s\n", name.c_str(), errors.grid.c_str(),
                   format_percent(errors.rel_l2_mean).c_str(),
                   format_percent(errors.energy_gap_mean).c_str(),
                   format_percent(errors.energy_norm_error_mean).c_str());
  }
  if (e.mean) text += "spread        " + format_percent(figures_of(e).spread) + " of its size\n";
  for (auto const& sentence : verdict(e)) text += sentence + "\n";
  return text;
}

std::string ensemble_csv(EnsembleEvaluation const& e) {
  std::string text = "member,index,rel_l2,energy_gap,energy_norm_error,spread\n";
  auto const add = [&](std::string const& name, Evaluation const& errors, bool of_mean) {
    for (std::size_t k = 0; k < errors.samples.size(); ++k) {
      auto const& s = errors.samples[k];
      text += format("%s,%ld,%.9g,%.9g,%.9g,", name.c_str(), static_cast<long>(s.index), s.rel_l2,
                     s.energy_gap, s.energy_norm_error);
      text += (of_mean ? format("%.9g", e.spread[k]) : "") + "\n";
    }
  };
  for (std::size_t k = 0; k < e.members.size(); ++k) {
    add(std::to_string(k + 1), e.members[k], false);
  }
  if (e.mean) add("mean", *e.mean, true);
  return text;
}

std::string ensemble_json(EnsembleEvaluation const& e) {
  auto const f = figures_of(e);
  auto members = Json::array();
  for (auto const& member : e.members) members.push_back(json_of(member));
  auto samples = Json::array();
  for (std::size_t k = 0; k < e.spread.size(); ++k) {
    auto const& s = e.mean->samples[k];
    samples.push_back(Json::object({{"index", s.index},
                                    {"rel_l2", s.rel_l2},
                                    {"energy_gap", s.energy_gap},
                                    {"energy_norm_error", s.energy_norm_error},
                                    {"spread", e.spread[k]}}));
  }
  return document(Json::object({{"split", e.members.front().split},
                                {"precision", e.members.front().precision},
                                {"members", members},
                                {"mean", e.mean ? json_of(*e.mean) : Json()},
                                {"members_energy_norm_error", f.members_error},
                                {"best_member", f.best + 1},
                                {"mean_over_members", f.over_members},
                                {"mean_over_best", f.over_best},
                                {"spread", f.spread},
                                {"rank_correlation", f.rank_correlation},
                                {"spread_over_error", f.spread_over_error},
                                {"verdict", verdict(e)},
                                {"per_sample", samples}}));
}

std::string render_ensemble(EnsembleEvaluation const& e, std::string const& title,
                            std::vector<std::pair<std::string, std::string>> const& summary,
                            std::string const& config) {
  using html::element;
  std::string rows;
  for (auto const& [name, errors] : rows_of(e)) {
    rows += element("tr", "",
                    element("td", "", name) + element("td", "", html::grid(errors.grid)) +
                        element("td", "", format_percent(errors.rel_l2_mean)) +
                        element("td", "", format_percent(errors.energy_gap_mean)) +
                        element("td", "", format_percent(errors.energy_norm_error_mean)));
  }
  std::string body = element("h1", "", html::escape(title));
  for (auto const& sentence : verdict(e)) body += element("p", "", html::escape(sentence));
  body += html::section(
      "Errors, means over samples",
      html::error_table({"", "grid", "relative L2", "energy gap", "energy norm"}, rows));
  body += html::summary(summary);
  if (e.mean) body += html::section("What the spread tells", calibration(e));
  body += html::folded("Resolved configuration", config);
  return html::page(html::escape(title), body);
}

}  // namespace voxcycle
