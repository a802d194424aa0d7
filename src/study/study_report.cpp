// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/text.hpp"
#include "voxcycle/report/html.hpp"
#include "voxcycle/study/study.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "study/study_charts.hpp"

namespace voxcycle {
namespace {

using html::element;
using html::escape;
using html::percent;

char const* metric_name(StudyMetric metric) {
  switch (metric) {
    case StudyMetric::rel_l2:
      return "relative L2 error";
    case StudyMetric::energy_gap:
      return "energy gap";
    case StudyMetric::energy_norm:
      return "energy-norm error";
  }
  return "";
}

std::string render_missing(Study const& study) {
  std::string items;
  std::size_t missing = 0;
  for (auto const& run : study.runs) {
    if (run.finished) continue;
    ++missing;
    items += element("li", "",
                     escape(format("%d: ", run.number) + run.label + ", " + run.state +
                            (run.failure.empty() ? "" : ": " + run.failure)));
  }
  if (missing == 0) return "";
  return element(
             "p", "class='warn'",
             format("%zu of %zu runs are missing from this report.", missing, study.runs.size())) +
         element("details", missing <= 8 ? "open='open'" : "",
                 element("summary", "", "Missing runs") + element("ul", "", items));
}

/// The mean, and below it the range without the unit: "1.87 %", "1.77 – 1.97".
std::string error_cell(Spread const& spread, std::size_t runs, double best) {
  auto const number = [](double fraction) {
    auto const text = percent(fraction);
    return text.substr(0, text.find(" %"));
  };
  auto text = percent(spread.mean);
  if (runs > 1) text += element("small", "", number(spread.low) + " – " + number(spread.high));
  return element("td", spread.mean == best && runs > 0 ? "class='best'" : "", text);
}

std::string time_text(double seconds) {
  return std::isfinite(seconds) ? format_seconds(seconds) : "–";
}

std::string work_text(double work) {
  if (!std::isfinite(work) || work <= 0) return "–";
  return work < 1e9 ? format("%.3g M", work / 1e6) : format("%.3g G", work / 1e9);
}

std::string target_cell(StudyGroup const& group) {
  if (group.runs.empty() || std::isnan(group.target)) return "–";
  auto const reached = group.seconds_to_target.size();
  if (reached == 0) return "not reached";
  auto text = time_text(spread_of(group.seconds_to_target).mean);
  if (reached < group.runs.size()) {
    text += " " + element("small", "", format("%zu of %zu runs", reached, group.runs.size()));
  }
  return text;
}

/// Over the groups with the same finest grid: other grids are other problems.
double minimum(std::vector<StudyGroup> const& groups, std::string const& grid,
               Spread StudyGroup::*member) {
  double best = INFINITY;
  for (auto const& group : groups) {
    if (group.grid == grid) best = std::fmin(best, (group.*member).mean);
  }
  return best;
}

/// Groups of runs that end on a coarser grid than their finest.
bool goes_on_after_the_finest(StudyGroup const& group) {
  return std::any_of(group.runs.begin(), group.runs.end(), [](auto const* run) {
    return !run->path.empty() && run->path.back() != run->grid;
  });
}

std::string render_table(Study const& study, std::vector<StudyGroup> const& groups) {
  double fastest = NAN;
  for (auto const& group : groups) fastest = std::fmax(fastest, group.speedup);
  std::string rows;
  double target = NAN;  // of the baseline
  bool several_targets = false;
  bool any_diverged = false;
  bool any_goes_on = false;
  bool any_incomparable = false;
  std::set<std::string> baselines;
  auto const cell = [&](StudyGroup const& group, Spread StudyGroup::*member) {
    return error_cell(group.*member, group.runs.size(), minimum(groups, group.grid, member));
  };
  for (auto const& group : groups) {
    bool const has_target = std::isfinite(group.target);
    if (has_target && std::isfinite(target)) several_targets |= group.target != target;
    if (has_target) target = group.target;
    bool const best = std::isfinite(group.speedup) && group.speedup == fastest;
    any_diverged = any_diverged || group.diverged > 0;
    bool const goes_on = goes_on_after_the_finest(group);
    any_goes_on = any_goes_on || goes_on;
    auto const divergence = divergence_of(group);
    auto label = escape(group.label) + (goes_on ? " *" : "") +
                 (divergence.empty() ? "" : element("small", "class='warn'", divergence));
    if (!group.comparable) label += element("small", "class='warn'", escape(group.resources));
    any_incomparable = any_incomparable || !group.comparable;
    if (!group.baseline.empty()) baselines.insert(group.baseline);
    rows += element(
        "tr", "",
        element("td", "", label) +
            element("td", group.complete() ? "" : "class='warn'", count_of(group)) +
            element("td", "", html::grid(group.grid)) + cell(group, &StudyGroup::rel_l2) +
            cell(group, &StudyGroup::energy_gap) + cell(group, &StudyGroup::energy_norm) +
            element("td", "", time_text(group.seconds.mean)) +
            element("td", "", work_text(group.work.mean)) + element("td", "", target_cell(group)) +
            element("td", best ? "class='best'" : "",
                    std::isfinite(group.speedup) ? format("%.2f ×", group.speedup) : "–"));
  }
  std::string note = format(
      "Errors at the end of the runs on held-out samples, on the finest grid; where a group has "
      "several seeds, their mean and range. To target: training time until the %s is, and stays, "
      "at most ",
      metric_name(study.metric));
  if (study.target > 0) {
    note += percent(study.target);
  } else {
    note += "what all seeds of the baseline end at";
    if (std::isnan(target)) {
      note +=
          " (there is no target: not all of the baseline's runs are finished, or one has diverged)";
    } else if (!several_targets) {
      note += " (" + percent(target) + ")";
    }
  }
  note += ", interpolated between evaluations; speed-up: the baseline's time over this one. ";
  if (baselines.size() == 1) note += "Baseline: " + escape(*baselines.begin()) + ".";
  if (baselines.size() > 1) {
    note += "Baseline: " + escape(study.baseline) + " with the same values of what is varied.";
  }
  if (any_incomparable) {
    note +=
        " Rows with processes and threads beside the label had others than their baseline: times "
        "and speed-up compare machines, too.";
  }
  if (any_goes_on) {
    note +=
        " *: the path ends on coarser grids; errors, time and voxels are those of the last stage "
        "on the finest.";
  }
  if (any_diverged) {
    note +=
        " Diverged: the energy-norm error at the end is not finite, or above 300 % (that of u = 0 "
        "is 100 %) and three times what the run began with. The charts' scales are those of the "
        "other evaluations.";
  }
  return html::section(
      "Final figures",
      html::error_table({"cycle or case", "seeds", "grid", "relative L2", "energy gap",
                         "energy norm", "training", "voxels", "to target", "speed-up"},
                        rows) +
          element("p", "class='quiet'", note));
}

}  // namespace

std::string render_study(Study const& study) {
  auto const groups = groups_of(study);
  auto const title = html::grid(study.title);
  std::string body = element("h1", "", title);
  body += render_missing(study);
  body += render_table(study, groups);
  body += render_study_curves(groups);
  body += render_study_spectra(groups);
  body += html::summary(study.summary);
  body += html::folded("Configuration of the study", study.config);
  return html::page(title, body);
}

}  // namespace voxcycle
