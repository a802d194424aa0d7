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
    auto const text = format_percent(fraction);
    return text.substr(0, text.find(" %"));
  };
  auto text = format_percent(spread.mean);
  if (runs > 1) text += element("small", "", number(spread.low) + " – " + number(spread.high));
  return element("td", spread.mean == best && runs > 0 ? "class='best'" : "", text);
}

std::string work_text(double work) {
  if (!std::isfinite(work) || work <= 0) return "–";
  return work < 1e9 ? format("%.3g M", work / 1e6) : format("%.3g G", work / 1e9);
}

std::string target_cell(StudyGroup const& group) {
  if (group.runs.empty() || std::isnan(group.target)) return "–";
  auto const reached = group.seconds_to_target.size();
  if (reached == 0) return "not reached";
  auto text = format_seconds(spread_of(group.seconds_to_target).mean);
  if (reached < group.runs.size()) {
    text += " " + element("small", "", format("%zu of %zu runs", reached, group.runs.size()));
  }
  return text;
}

std::string speedup_cell(StudyGroup const& group, double fastest) {
  auto const& [mean, low, high] = group.speedup;
  if (!std::isfinite(mean)) return element("td", "", "–");
  auto text = format("%.2f ×", mean);
  if (group.runs.size() > 1) text += element("small", "", format("%.2f – %.2f", low, high));
  return element("td", mean == fastest ? "class='best'" : "", text);
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

std::string table_row(StudyGroup const& group, std::vector<StudyGroup> const& groups) {
  double fastest = NAN;
  for (auto const& other : groups) fastest = std::fmax(fastest, other.speedup.mean);
  auto const cell = [&](Spread StudyGroup::*member) {
    return error_cell(group.*member, group.runs.size(), minimum(groups, group.grid, member));
  };
  auto const divergence = divergence_of(group);
  auto label = escape(group.label) + (goes_on_after_the_finest(group) ? " *" : "") +
               (divergence.empty() ? "" : element("small", "class='warn'", divergence));
  if (!group.comparable) label += element("small", "class='warn'", escape(group.resources));
  return element("tr", "",
                 element("td", "", label) +
                     element("td", group.complete() ? "" : "class='warn'", count_of(group)) +
                     element("td", "", html::grid(group.grid)) + cell(&StudyGroup::rel_l2) +
                     cell(&StudyGroup::energy_gap) + cell(&StudyGroup::energy_norm) +
                     element("td", "", format_seconds(group.seconds.mean)) +
                     element("td", "", work_text(group.work.mean)) +
                     element("td", "", target_cell(group)) + speedup_cell(group, fastest));
}

std::string table_note(Study const& study, std::vector<StudyGroup> const& groups) {
  std::set<double> targets;
  std::set<std::string> baselines;
  for (auto const& group : groups) {
    if (std::isfinite(group.target)) targets.insert(group.target);
    if (!group.baseline.empty()) baselines.insert(group.baseline);
  }
  auto const any = [&](auto const& holds) {
    return std::any_of(groups.begin(), groups.end(), holds);
  };
  std::string note = format(
      "Errors at the end of the runs on held-out samples, on the finest grid; where a group has "
      "several seeds, their mean and range. To target: training time until the %s is, and stays, "
      "at most ",
      words_of(study.metric).c_str());
  if (study.target > 0) {
    note += format_percent(study.target);
  } else {
    note += "what all seeds of the baseline end at";
    if (targets.empty()) {
      note +=
          " (there is no target: not all of the baseline's runs are finished, or one has diverged)";
    } else if (targets.size() == 1) {
      note += " (" + format_percent(*targets.begin()) + ")";
    }
  }
  note += ", interpolated between evaluations; speed-up: the baseline's time over this one. ";
  if (baselines.size() == 1) note += "Baseline: " + escape(*baselines.begin()) + ".";
  if (baselines.size() > 1) {
    note += "Baseline: " + escape(study.baseline) + " with the same values of what is varied.";
  }
  if (any([](StudyGroup const& group) { return !group.comparable; })) {
    note +=
        " Rows with processes and threads beside the label had others than their baseline: times "
        "and speed-up compare machines, too.";
  }
  if (any(goes_on_after_the_finest)) {
    note +=
        " *: the path ends on coarser grids; errors, time and voxels are those of the last stage "
        "on the finest.";
  }
  if (any([](StudyGroup const& group) { return group.diverged > 0; })) {
    note +=
        " Diverged: the energy-norm error at the end is not finite, or above 300 % (that of u = 0 "
        "is 100 %) and three times what the run began with. The charts' scales are those of the "
        "other evaluations.";
  }
  return note;
}

std::string render_table(Study const& study, std::vector<StudyGroup> const& groups) {
  std::string rows;
  for (auto const& group : groups) rows += table_row(group, groups);
  return html::section(
      "Final figures",
      html::error_table({"cycle or case", "seeds", "grid", "relative L2", "energy gap",
                         "energy norm", "training", "voxels", "to target", "speed-up"},
                        rows) +
          element("p", "class='quiet'", table_note(study, groups)));
}

}  // namespace

std::string render_study(Study const& study) {
  auto const groups = groups_of(study);
  auto const title = html::grid(study.title);
  std::string body = element("h1", "", title);
  body += render_missing(study);
  auto const findings = findings_of(study, groups);
  if (!findings.empty()) body += element("p", "class='result'", escape(result_of(study, groups)));
  std::string items;
  for (auto const& finding : findings) items += element("li", "", escape(finding));
  if (findings.size() > 1) body += element("ul", "", items);
  for (auto const& doubt : doubts_of(study, groups)) {
    body += element("p", "class='warn'", escape(doubt));
  }
  body += render_table(study, groups);
  body += render_study_curves(groups);
  body += render_study_spectra(groups);
  body += html::summary(study.summary);
  body += html::folded("Configuration of the study", study.config);
  return html::page(title, body);
}

}  // namespace voxcycle
