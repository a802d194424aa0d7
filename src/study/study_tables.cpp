// SPDX-License-Identifier: BSD-3-Clause
// A study for other programs: ablation.json and ablation.csv.
#include "voxcycle/core/json.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/study/study.hpp"

#include <cmath>

namespace voxcycle {
namespace {

Json settings_object(std::vector<std::pair<std::string, std::string>> const& settings) {
  auto members = Json::object();
  for (auto const& [key, value] : settings) members[key] = value;
  return members;
}

Json point_object(StudyPoint const& point) {
  return Json::object({{"stage", point.stage + 1},
                       {"grid", point.grid},
                       {"step", point.step},
                       {"seconds", point.seconds},
                       {"work", point.work},
                       {"rel_l2_mean", point.rel_l2},
                       {"energy_gap_mean", point.energy_gap},
                       {"energy_norm_error_mean", point.energy_norm}});
}

Json points_array(std::vector<StudyPoint> const& points) {
  auto objects = Json::array();
  for (auto const& point : points) objects.push_back(point_object(point));
  return objects;
}

Json spectra_array(std::vector<StageSpectrum> const& spectra) {
  auto objects = Json::array();
  for (auto const& spectrum : spectra) {
    double total = 0.0;
    for (double const energy : spectrum.energy) total += energy;
    std::vector<double> shares;
    for (double const energy : spectrum.energy) shares.push_back(total > 0 ? energy / total : 0);
    objects.push_back(Json::object({{"stage", spectrum.stage + 1},
                                    {"grid", spectrum.grid},
                                    {"energy", spectrum.energy},
                                    {"share", shares}}));
  }
  return objects;
}

Json run_object(StudyRun const& run, StudyMetric metric, double target) {
  auto const* last = final_point(run);
  auto const of_last = [&](double StudyPoint::*member) {
    return last == nullptr ? Json() : Json(last->*member);
  };
  return Json::object({{"number", run.number},
                       {"label", run.label},
                       {"group", run.group},
                       {"case", run.case_name},
                       {"settings", settings_object(run.settings)},
                       {"directory", run.directory},
                       {"state", run.state},
                       {"failure", run.failure},
                       {"resources", run.resources},
                       {"cycle", run.cycle},
                       {"path", run.path},
                       {"loss", run.loss},
                       {"norm", run.norm},
                       {"seed", run.seed},
                       {"grid", run.grid},
                       {"seconds", of_last(&StudyPoint::seconds)},
                       {"work", of_last(&StudyPoint::work)},
                       {"rel_l2_mean", of_last(&StudyPoint::rel_l2)},
                       {"energy_gap_mean", of_last(&StudyPoint::energy_gap)},
                       {"energy_norm_error_mean", of_last(&StudyPoint::energy_norm)},
                       {"seconds_to_target", seconds_to_target(run, metric, target)},
                       {"curve", points_array(run.curve)},
                       {"spectra", spectra_array(run.spectra)}});
}

Json spread_object(Spread const& spread) {
  return Json::object({{"mean", spread.mean}, {"low", spread.low}, {"high", spread.high}});
}

Json group_object(StudyGroup const& group) {
  return Json::object({{"label", group.label},
                       {"case", group.case_name},
                       {"settings", settings_object(group.settings)},
                       {"grid", group.grid},
                       {"planned_runs", group.planned},
                       {"finished_runs", group.runs.size()},
                       {"failed_runs", group.failed},
                       {"diverged_runs", group.diverged},
                       {"rel_l2_mean", spread_object(group.rel_l2)},
                       {"energy_gap_mean", spread_object(group.energy_gap)},
                       {"energy_norm_error_mean", spread_object(group.energy_norm)},
                       {"seconds", spread_object(group.seconds)},
                       {"work", spread_object(group.work)},
                       {"target", group.target},
                       {"seconds_to_target", group.seconds_to_target},
                       {"speedup", spread_object(group.speedup)},
                       {"baseline", group.baseline},
                       {"resources", group.resources}});
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
  auto runs = Json::array();
  for (auto const& run : study.runs) {
    runs.push_back(run_object(run, study.metric, target_of(groups, run)));
  }
  auto objects = Json::array();
  for (auto const& group : groups) objects.push_back(group_object(group));
  return document({{"title", study.title},
                   {"baseline", study.baseline},
                   {"target_metric", to_string(study.metric)},
                   {"target_error", study.target},
                   {"runs", runs},
                   {"groups", objects},
                   {"result", result_of(study, groups)},
                   {"findings", findings_of(study, groups)},
                   {"doubts", doubts_of(study, groups)}});
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
