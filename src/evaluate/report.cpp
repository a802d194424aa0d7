// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/evaluate/report.hpp"

#include "voxcycle/core/median.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/report/html.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "evaluate/report_charts.hpp"

namespace voxcycle {
namespace {

using html::element;

constexpr std::size_t kUnfoldedSamples = 10;

/// Mean, median and maximum of the finite values; all NaN if there are none.
struct Statistics {
  double mean = std::numeric_limits<double>::quiet_NaN();
  double median = std::numeric_limits<double>::quiet_NaN();
  double max = std::numeric_limits<double>::quiet_NaN();
};

Statistics statistics_of(std::vector<SampleErrors> const& errors, double SampleErrors::*member) {
  std::vector<double> values;
  for (SampleErrors const& error : errors) {
    if (std::isfinite(error.*member)) values.push_back(error.*member);
  }
  if (values.empty()) return {};
  double const sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {sum / static_cast<double>(values.size()), median(values),
          *std::max_element(values.begin(), values.end())};
}

bool is_finite(SampleErrors const& error) {
  return std::isfinite(error.rel_l2) && std::isfinite(error.energy_gap) &&
         std::isfinite(error.energy_norm_error);
}

std::size_t worst_of(std::vector<SampleErrors> const& errors) {
  auto const worst =
      std::max_element(errors.begin(), errors.end(),
                       [&](auto const& a, auto const& b) { return badness(a) < badness(b); });
  return static_cast<std::size_t>(worst - errors.begin());
}

std::string headline_figure(char const* kind, std::string const& value, char const* name) {
  return element("div", kind, element("b", "", value) + element("span", "", name));
}

std::string render_headline(ReportInput const& input) {
  if (input.errors.empty()) {
    return element("p", "class='quiet'", "No held-out samples were evaluated.");
  }
  double const rel_l2 = statistics_of(input.errors, &SampleErrors::rel_l2).mean;
  double const gap = statistics_of(input.errors, &SampleErrors::energy_gap).mean;
  double const norm = statistics_of(input.errors, &SampleErrors::energy_norm_error).mean;
  std::string content = element(
      "div", "class='figures'",
      headline_figure("class='figure main'", format_percent(rel_l2), "mean relative L2 error") +
          headline_figure("class='figure main'", format_percent(gap), "mean energy gap") +
          headline_figure("class='figure main'", format_percent(norm), "mean energy-norm error") +
          headline_figure("class='figure'", html::grid(input.grid), "grid, in voxels") +
          headline_figure("class='figure'", std::to_string(input.errors.size()),
                          "held-out samples"));
  if (std::isfinite(rel_l2) && std::isfinite(gap)) {
    content += element("p", "",
                       "On samples that training never saw, the predicted field differs from the "
                       "exact discrete solution by " +
                           format_percent(rel_l2) +
                           " of its size, and its energy lies above the smallest possible one by " +
                           format_percent(gap) + " of the solution's own (½ |u*|²).");
  }
  auto const broken = std::count_if(input.errors.begin(), input.errors.end(),
                                    [](SampleErrors const& error) { return !is_finite(error); });
  if (broken > 0) {
    content += element("p", "class='warn'",
                       format("%ld of %zu samples: errors that are not finite; the means leave "
                              "those values out.",
                              long(broken), input.errors.size()));
  }
  return content;
}

std::string error_row(std::string const& kind, std::string const& name, double rel_l2, double gap,
                      double norm) {
  return element("tr", kind,
                 element("td", "", name) + element("td", "", format_percent(rel_l2)) +
                     element("td", "", format_percent(gap)) +
                     element("td", "", format_percent(norm)));
}

std::string error_table(std::string const& first_column, std::string const& rows) {
  return html::error_table({first_column, "relative L2", "energy gap", "energy norm"}, rows);
}

std::string render_errors(ReportInput const& input) {
  if (input.errors.empty()) return "";
  Statistics const rel_l2 = statistics_of(input.errors, &SampleErrors::rel_l2);
  Statistics const gap = statistics_of(input.errors, &SampleErrors::energy_gap);
  Statistics const norm = statistics_of(input.errors, &SampleErrors::energy_norm_error);
  std::string content =
      error_table("over " + std::to_string(input.errors.size()) +
                      (input.errors.size() == 1 ? " sample" : " samples"),
                  error_row("", "mean", rel_l2.mean, gap.mean, norm.mean) +
                      error_row("", "median", rel_l2.median, gap.median, norm.median) +
                      error_row("", "max", rel_l2.max, gap.max, norm.max));
  std::size_t const worst = worst_of(input.errors);
  std::string rows;
  for (std::size_t i = 0; i < input.errors.size(); ++i) {
    SampleErrors const& error = input.errors[i];
    rows += error_row(i == worst ? "class='worst'" : "",
                      std::to_string(error.index) + (i == worst ? " (worst)" : ""), error.rel_l2,
                      error.energy_gap, error.energy_norm_error);
  }
  std::string const table = error_table("sample", rows);
  bool const folded = input.errors.size() > kUnfoldedSamples;
  content += element("details", folded ? "" : "open='open'",
                     element("summary", "", "Each sample") + table);
  return html::section("Errors on held-out samples", content);
}

std::string render_glossary() {
  std::pair<char const*, char const*> const entries[] = {
      {"ν, u", "The coefficient field given (on voxels) and the solution sought (on nodes)."},
      {"relative L2 error",
       "|u − u*| / |u*| over all nodes, u* being the exact discrete solution."},
      {"energy gap",
       "(J(u) − J(u*)) / (½ |u*|²), in the norm of the energy. The solution has the smallest "
       "energy J of all fields, so only the solution has a gap of zero."},
      {"energy-norm error",
       "|u − u*| / |u*| in the norm of the energy, that is the error of gradients and fluxes. "
       "Its square is the energy gap of the sample."},
      {"held-out samples", "Coefficient fields kept apart from training, the same in every stage."},
      {"stage, grid",
       "Training visits grids in turn, as the cycle says; n³ is one of n × n × n voxels."},
  };
  std::string list;
  for (auto const& [term, meaning] : entries) {
    list += element("dt", "", term) + element("dd", "", meaning);
  }
  return html::section("How to read this", element("dl", "", list));
}

}  // namespace

double badness(SampleErrors const& errors) {
  return is_finite(errors) ? errors.rel_l2 : std::numeric_limits<double>::infinity();
}

std::string render_report(ReportInput const& input) {
  std::string const title = html::grid(input.title.empty() ? "voxcycle report" : input.title);
  std::string body = element("h1", "", title);
  body += render_headline(input);
  body += html::summary(input.summary);
  body += render_charts(input.metrics);
  body += render_errors(input);
  if (input.comparison) body += comparison_section(*input.comparison);
  body += render_samples(input.samples);
  body += render_glossary();
  body += html::folded("Resolved configuration", input.config);
  return html::page(title, body);
}

}  // namespace voxcycle
