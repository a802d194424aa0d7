// SPDX-License-Identifier: BSD-3-Clause
// A study for other programs: ablation.json and ablation.csv.
#include "voxcycle/core/json.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/study/study.hpp"

#include <cmath>

namespace voxcycle {
namespace {

std::string texts(std::vector<std::string> const& values) {
  std::vector<std::string> quoted;
  for (auto const& value : values) quoted.push_back(json::text(value));
  return json::array(quoted);
}

std::string settings_object(std::vector<std::pair<std::string, std::string>> const& settings) {
  json::Members members;
  for (auto const& [key, value] : settings) members.emplace_back(key, json::text(value));
  return json::object(members);
}

std::string point_object(StudyPoint const& point) {
  return json::object({{"stage", std::to_string(point.stage + 1)},
                       {"grid", json::text(point.grid)},
                       {"step", std::to_string(point.step)},
                       {"seconds", json::number(point.seconds)},
                       {"work", json::number(point.work)},
                       {"rel_l2_mean", json::number(point.rel_l2)},
                       {"energy_gap_mean", json::number(point.energy_gap)},
                       {"energy_norm_error_mean", json::number(point.energy_norm)}});
}

std::string points_array(std::vector<StudyPoint> const& points) {
  std::vector<std::string> objects;
  for (auto const& point : points) objects.push_back("\n      " + point_object(point));
  return json::array(objects);
}

std::string spectra_array(std::vector<StageSpectrum> const& spectra) {
  std::vector<std::string> objects;
  for (auto const& spectrum : spectra) {
    double total = 0.0;
    for (double const energy : spectrum.energy) total += energy;
    std::vector<double> shares;
    for (double const energy : spectrum.energy) shares.push_back(total > 0 ? energy / total : 0);
    objects.push_back("\n      " + json::object({{"stage", std::to_string(spectrum.stage + 1)},
                                                 {"grid", json::text(spectrum.grid)},
                                                 {"energy", json::array(spectrum.energy)},
                                                 {"share", json::array(shares)}}));
  }
  return json::array(objects);
}

std::string run_object(StudyRun const& run, StudyMetric metric, double target) {
  auto const* last = final_point(run);
  auto const of_last = [&](double StudyPoint::*member) {
    return last == nullptr ? std::string("null") : json::number(last->*member);
  };
  return json::object({{"number", std::to_string(run.number)},
                       {"label", json::text(run.label)},
                       {"group", json::text(run.group)},
                       {"case", json::text(run.case_name)},
                       {"settings", settings_object(run.settings)},
                       {"directory", json::text(run.directory)},
                       {"state", json::text(run.state)},
                       {"failure", json::text(run.failure)},
                       {"resources", json::text(run.resources)},
                       {"cycle", json::text(run.cycle)},
                       {"path", texts(run.path)},
                       {"loss", json::text(run.loss)},
                       {"norm", json::text(run.norm)},
                       {"seed", std::to_string(run.seed)},
                       {"grid", json::text(run.grid)},
                       {"seconds", of_last(&StudyPoint::seconds)},
                       {"work", of_last(&StudyPoint::work)},
                       {"rel_l2_mean", of_last(&StudyPoint::rel_l2)},
                       {"energy_gap_mean", of_last(&StudyPoint::energy_gap)},
                       {"energy_norm_error_mean", of_last(&StudyPoint::energy_norm)},
                       {"seconds_to_target", json::number(seconds_to_target(run, metric, target))},
                       {"curve", points_array(run.curve)},
                       {"spectra", spectra_array(run.spectra)}});
}

std::string spread_object(Spread const& spread) {
  return json::object({{"mean", json::number(spread.mean)},
                       {"low", json::number(spread.low)},
                       {"high", json::number(spread.high)}});
}

std::string group_object(StudyGroup const& group) {
  return json::object({{"label", json::text(group.label)},
                       {"case", json::text(group.case_name)},
                       {"settings", settings_object(group.settings)},
                       {"grid", json::text(group.grid)},
                       {"planned_runs", std::to_string(group.planned)},
                       {"finished_runs", std::to_string(group.runs.size())},
                       {"failed_runs", std::to_string(group.failed)},
                       {"diverged_runs", std::to_string(group.diverged)},
                       {"rel_l2_mean", spread_object(group.rel_l2)},
                       {"energy_gap_mean", spread_object(group.energy_gap)},
                       {"energy_norm_error_mean", spread_object(group.energy_norm)},
                       {"seconds", spread_object(group.seconds)},
                       {"work", spread_object(group.work)},
                       {"target", json::number(group.target)},
                       {"seconds_to_target", json::array(group.seconds_to_target)},
                       {"speedup", json::number(group.speedup)},
                       {"baseline", json::text(group.baseline)},
                       {"resources", json::text(group.resources)}});
}

std::string csv_text(std::string const& text) {
  std::string quoted = "\"";
  for (char const c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

/// Empty where there is no number, as in metrics.csv.
std::string csv_cell(double value) {
  return std::isfinite(value) ? format(",%.9g", value) : ",";
}

/// The target of the run's group.
double target_of(std::vector<StudyGroup> const& groups, StudyRun const& run) {
  for (auto const& group : groups) {
    for (auto const* member : group.runs) {
      if (member == &run) return group.target;
    }
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::string study_json(Study const& study) {
  auto const groups = groups_of(study);
  std::vector<std::string> runs;
  for (auto const& run : study.runs) {
    runs.push_back("\n    " + run_object(run, study.metric, target_of(groups, run)));
  }
  std::vector<std::string> objects;
  for (auto const& group : groups) objects.push_back("\n    " + group_object(group));
  return json::document({{"title", json::text(study.title)},
                         {"baseline", json::text(study.baseline)},
                         {"target_metric", json::text(to_string(study.metric))},
                         {"target_error", json::number(study.target)},
                         {"runs", json::array(runs)},
                         {"groups", json::array(objects)}});
}

std::string study_csv(Study const& study) {
  std::string text =
      "number,label,case,seed,state,stage,grid,step,seconds,work,rel_l2_mean,energy_gap_mean,"
      "energy_norm_error_mean\n";
  for (auto const& run : study.runs) {
    for (auto const& point : run.curve) {
      text += format("%d,", run.number) + csv_text(run.label) + "," + csv_text(run.case_name) +
              "," + std::to_string(run.seed) + "," + csv_text(run.state) +
              format(",%d,%s,%ld,%.9g,%.9g", point.stage + 1, point.grid.c_str(),
                     static_cast<long>(point.step), point.seconds, point.work) +
              csv_cell(point.rel_l2) + csv_cell(point.energy_gap) + csv_cell(point.energy_norm) +
              "\n";
    }
  }
  return text;
}

}  // namespace voxcycle
