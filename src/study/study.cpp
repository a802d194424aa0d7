// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/study/study.hpp"

#include "voxcycle/core/text.hpp"
#include "voxcycle/core/usage_error.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace voxcycle {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Errors so many times the larger of the first one and that of u = 0 are no bad luck.
constexpr double kDivergence = 3.0;

/// In the order of StudyMetric.
struct MetricKind {
  std::string_view name;
  double StudyPoint::*error;
};
constexpr MetricKind kMetrics[] = {{"rel_l2", &StudyPoint::rel_l2},
                                   {"energy_gap", &StudyPoint::energy_gap},
                                   {"energy_norm_error", &StudyPoint::energy_norm}};

using Settings = std::vector<std::pair<std::string, std::string>>;

Settings without_seed(Settings settings) {
  std::erase_if(settings, [](auto const& setting) { return setting.first == "run.seed"; });
  return settings;
}

/// Of the runs' final points.
Spread final_figures(std::vector<StudyRun const*> const& runs, double StudyPoint::*member) {
  std::vector<double> values;
  for (auto const* run : runs) {
    if (run->curve.empty()) continue;
    auto const* point = final_point(*run);
    values.push_back(point == nullptr ? kNaN : point->*member);
  }
  return spread_of(values);
}

/// Evaluations by stage.
std::map<int, std::vector<StudyPoint>> by_stage(StudyRun const& run) {
  std::map<int, std::vector<StudyPoint>> stages;
  for (auto const& point : run.curve) stages[point.stage].push_back(point);
  return stages;
}

StudyPoint mean_point(std::vector<StudyPoint> const& points) {
  StudyPoint mean = points.front();
  for (auto member : {&StudyPoint::seconds, &StudyPoint::work, &StudyPoint::rel_l2,
                      &StudyPoint::energy_gap, &StudyPoint::energy_norm}) {
    double sum = 0.0;
    for (auto const& point : points) sum += point.*member;
    mean.*member = sum / static_cast<double>(points.size());
  }
  return mean;
}

/// Over evaluations at the same place within a stage. Stages that end by time or by patience have
/// more in some runs than in others: their last ones belong together, and what comes before them
/// counts where all runs have it.
std::vector<StudyPoint> mean_curve(std::vector<StudyRun const*> const& runs) {
  std::vector<StudyPoint> mean;
  if (runs.empty()) return mean;
  std::vector<std::map<int, std::vector<StudyPoint>>> all;
  for (auto const* run : runs) all.push_back(by_stage(*run));
  for (auto const& [stage, first] : all.front()) {
    std::size_t common = first.size();
    for (auto& stages : all) common = std::min(common, stages[stage].size());
    for (std::size_t place = 0; place < common; ++place) {
      std::vector<StudyPoint> points;
      for (auto& stages : all) {
        auto const& own = stages[stage];
        points.push_back(place + 1 < common ? own[place] : own.back());
      }
      mean.push_back(mean_point(points));
    }
  }
  return mean;
}

std::string resources_of(std::vector<StudyRun const*> const& runs) {
  std::set<std::string> all;
  for (auto const* run : runs) {
    if (!run->resources.empty()) all.insert(run->resources);
  }
  return join({all.begin(), all.end()}, " | ");
}

/// The study's groups with nothing but their runs.
std::vector<StudyGroup> runs_by_group(Study const& study) {
  std::vector<StudyGroup> groups;
  for (auto const& run : study.runs) {
    auto found = std::find_if(groups.begin(), groups.end(), [&](auto const& group) {
      return group.case_name == run.case_name && group.settings == without_seed(run.settings);
    });
    if (found == groups.end()) {
      StudyGroup group;
      group.label = run.group.empty() ? "all runs" : run.group;
      group.case_name = run.case_name;
      group.grid = run.grid;
      group.settings = without_seed(run.settings);
      groups.push_back(std::move(group));
      found = groups.end() - 1;
    }
    ++found->planned;
    if (run.finished) {
      found->runs.push_back(&run);
    } else if (!run.failure.empty()) {
      ++found->failed;
    }
  }
  return groups;
}

/// What a group's own runs say.
void add_figures(StudyGroup& group) {
  group.diverged = static_cast<std::size_t>(std::count_if(
      group.runs.begin(), group.runs.end(), [](auto const* run) { return diverged(*run); }));
  group.resources = resources_of(group.runs);
  group.curve = mean_curve(group.runs);
  group.rel_l2 = final_figures(group.runs, &StudyPoint::rel_l2);
  group.energy_gap = final_figures(group.runs, &StudyPoint::energy_gap);
  group.energy_norm = final_figures(group.runs, &StudyPoint::energy_norm);
  group.seconds = final_figures(group.runs, &StudyPoint::seconds);
  group.work = final_figures(group.runs, &StudyPoint::work);
}

/// The group's target, its times to it and its speed-up.
/// @param baseline  null: there is none
void compare(StudyGroup& group, StudyGroup const* baseline, Study const& study) {
  bool const same_grid = baseline != nullptr && baseline->grid == group.grid;
  group.target = study.target;
  if (study.target == 0) {
    bool const meaningful = same_grid && baseline->complete() && baseline->diverged == 0;
    auto const error = kMetrics[static_cast<std::size_t>(study.metric)].error;
    group.target = meaningful ? final_figures(baseline->runs, error).high : kNaN;
  }
  auto const times = [&](StudyGroup const& of) {
    std::vector<double> reached;
    for (auto const* run : of.runs) {
      double const seconds = seconds_to_target(*run, study.metric, group.target);
      if (!std::isnan(seconds)) reached.push_back(seconds);
    }
    return reached;
  };
  group.seconds_to_target = times(group);
  if (baseline == nullptr) return;
  group.baseline = baseline->label;
  group.comparable = group.resources == baseline->resources || group.resources.empty() ||
                     baseline->resources.empty();
  if (!same_grid) return;
  auto const of_baseline = times(*baseline);
  auto const all_by_training = [](StudyGroup const& of, std::vector<double> const& seconds) {
    return seconds.size() == of.planned &&
           std::all_of(seconds.begin(), seconds.end(), [](double s) { return s > 0; });
  };
  if (all_by_training(group, group.seconds_to_target) && all_by_training(*baseline, of_baseline)) {
    std::vector<double> ratios;  // runs of both are in the order of their seeds
    for (std::size_t k = 0; k < std::min(of_baseline.size(), group.planned); ++k) {
      ratios.push_back(of_baseline[k] / group.seconds_to_target[k]);
    }
    group.speedup = spread_of(ratios);
    group.speedup.mean = spread_of(of_baseline).mean / spread_of(group.seconds_to_target).mean;
  }
}

}  // namespace

StudyMetric parse_study_metric(std::string const& name) {
  for (std::size_t k = 0; k < std::size(kMetrics); ++k) {
    if (kMetrics[k].name == name) return static_cast<StudyMetric>(k);
  }
  if (name == "energy_norm") return StudyMetric::energy_norm;  // what it was called
  throw UsageError("'" + name +
                   "' is no error. Choose one of rel_l2, energy_gap, energy_norm_error.");
}

std::string to_string(StudyMetric metric) {
  return std::string(kMetrics[static_cast<std::size_t>(metric)].name);
}

std::string words_of(StudyMetric metric) {
  constexpr char const* words[] = {"relative L2 error", "energy gap", "energy-norm error"};
  return words[static_cast<std::size_t>(metric)];
}

double StudyPoint::error(StudyMetric metric) const {
  return this->*kMetrics[static_cast<std::size_t>(metric)].error;
}

Spread spread_of(std::vector<double> const& values) {
  if (values.empty()) return {};
  Spread spread{0.0, values.front(), values.front()};
  for (double const value : values) {
    spread.mean += value / static_cast<double>(values.size());
    spread.low = std::min(spread.low, value);
    spread.high = std::max(spread.high, value);
  }
  return spread;
}

double divergence_limit(std::vector<StudyPoint> const& curve) {
  double const first = curve.empty() ? kNaN : curve.front().energy_norm;
  return kDivergence * (std::isfinite(first) ? std::max(1.0, first) : 1.0);
}

StudyPoint const* final_point(StudyRun const& run) {
  auto const last = std::find_if(run.curve.rbegin(), run.curve.rend(),
                                 [&](auto const& point) { return point.grid == run.grid; });
  return last == run.curve.rend() ? nullptr : &*last;
}

bool diverged(StudyRun const& run) {
  auto const* last = final_point(run);
  return last != nullptr && !(last->energy_norm <= divergence_limit(run.curve));
}

std::string divergence_of(StudyGroup const& group) {
  if (group.diverged == 0) return "";
  if (group.diverged == group.runs.size()) return "diverged";
  return format("%zu of %zu diverged", group.diverged, group.runs.size());
}

std::string count_of(StudyGroup const& group) {
  auto const finished = std::to_string(group.runs.size());
  if (group.complete()) return finished;
  return finished + " of " + std::to_string(group.planned) +
         (group.failed > 0 ? format(", %zu failed", group.failed) : "");
}

double seconds_to_target(StudyRun const& run, StudyMetric metric, double target) {
  StudyPoint const* before = nullptr;
  double reached = kNaN;
  for (auto const& point : run.curve) {
    if (point.grid != run.grid) {
      before = nullptr;
      continue;
    }
    double const error = point.error(metric);
    if (!(error <= target)) {
      reached = kNaN;
    } else if (std::isnan(reached)) {
      reached = point.seconds;
      if (before != nullptr && before->stage == point.stage && error > 0) {
        double const way =
            std::log(before->error(metric) / target) / std::log(before->error(metric) / error);
        reached = before->seconds + way * (point.seconds - before->seconds);
      }
    }
    before = std::isfinite(error) ? &point : nullptr;
  }
  return reached;
}

std::vector<StudyGroup> groups_of(Study const& study) {
  auto groups = runs_by_group(study);
  for (auto& group : groups) add_figures(group);
  if (groups.empty()) return groups;
  bool const one_case = std::all_of(groups.begin(), groups.end(), [&](auto const& group) {
    return group.case_name == groups.front().case_name;
  });
  auto const& baseline_case = study.baseline.empty() ? groups.front().case_name : study.baseline;
  for (auto& group : groups) {
    auto const found = std::find_if(groups.begin(), groups.end(), [&](auto const& other) {
      return one_case || (other.case_name == baseline_case && other.settings == group.settings);
    });
    compare(group, found == groups.end() ? nullptr : &*found, study);
  }
  return groups;
}

}  // namespace voxcycle
