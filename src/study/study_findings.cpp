// SPDX-License-Identifier: BSD-3-Clause
// A study in sentences: what it found, and where its figures say little.
#include "voxcycle/core/text.hpp"
#include "voxcycle/study/study.hpp"

#include <algorithm>
#include <cmath>

namespace voxcycle {
namespace {

/// The first evaluation on the run's finest grid, or null.
StudyPoint const* first_point(StudyRun const& run) {
  auto const first = std::find_if(run.curve.begin(), run.curve.end(),
                                  [&](auto const& point) { return point.grid == run.grid; });
  return first == run.curve.end() ? nullptr : &*first;
}

/// "the energy-norm error at which direct ends (2.8 %)" or "a held-out energy-norm error of 2 %".
std::string target_words(Study const& study, StudyGroup const& group) {
  auto const metric = words_of(study.metric);
  auto const value = format_percent(group.target);
  if (study.target > 0) return "a held-out " + metric + " of " + value;
  return "the " + metric + " at which " + group.baseline + " ends (" + value + ")";
}

/// "0.62 of the time that direct takes (0.55 to 0.70 over 3 seeds)", or that the seeds disagree.
std::string time_words(StudyGroup const& group) {
  auto const& [mean, low, high] = group.speedup;
  int const decimals = mean > 10.0 ? 3 : 2;
  auto text = format("%.*f", decimals, 1.0 / mean) + (mean > 1.0 ? " of" : " times") +
              " the time that " + group.baseline + " takes";
  if (group.runs.size() == 1) return text + " (one seed, so its spread is not known)";
  bool const open = low <= 1.0 && high >= 1.0;
  return text +
         format(" (%.*f to %.*f over %zu seeds", decimals, 1.0 / high, decimals, 1.0 / low,
                group.runs.size()) +
         (open ? ": either may be the faster)" : ")");
}

bool is_compared(StudyGroup const& group) {
  bool const own_baseline = group.baseline.empty() || group.baseline == group.label;
  return !own_baseline && group.complete() && !std::isnan(group.target);
}

std::string sentence_of(Study const& study, StudyGroup const& group) {
  auto const target = target_words(study, group);
  auto const runs = group.runs.size();
  auto const reached = group.seconds_to_target.size();
  auto const within = " in " + format_seconds(group.seconds.mean) + ".";
  if (reached == 0) return group.label + " does not reach " + target + within;
  if (reached < runs) {
    return format("Of %zu runs of %s, %zu %s ", runs, group.label.c_str(), reached,
                  reached == 1 ? "reaches" : "reach") +
           target + within;
  }
  if (!std::isfinite(group.speedup.mean)) return "";
  return group.label + " reaches " + target + " in " + time_words(group) + ".";
}

}  // namespace

std::vector<std::string> findings_of(Study const& study, std::vector<StudyGroup> const& groups) {
  std::vector<std::string> findings;
  for (auto const& group : groups) {
    if (!is_compared(group)) continue;
    if (auto text = sentence_of(study, group); !text.empty()) findings.push_back(std::move(text));
  }
  return findings;
}

std::string result_of(Study const& study, std::vector<StudyGroup> const& groups) {
  auto const findings = findings_of(study, groups);
  if (findings.size() < 2) return findings.empty() ? "" : findings.front();
  StudyGroup const* best = nullptr;
  for (auto const& group : groups) {
    if (!is_compared(group) || !std::isfinite(group.speedup.mean)) continue;
    if (best == nullptr || group.speedup.mean > best->speedup.mean) best = &group;
  }
  auto const count = std::to_string(findings.size());
  if (best == nullptr) return "None of " + count + " reaches its target in all runs.";
  bool const faster = best->speedup.mean > 1.0;
  return (faster ? "The fastest of " + count : "None of " + count + " is faster; the nearest") +
         ": " + sentence_of(study, *best);
}

std::vector<std::string> doubts_of(Study const& study, std::vector<StudyGroup> const& groups) {
  std::vector<std::string> doubts;
  for (auto const& group : groups) {
    std::size_t met = 0;
    std::size_t above = 0;
    for (auto const* run : group.runs) {
      auto const* first = first_point(*run);
      auto const* last = final_point(*run);
      if (first == nullptr) continue;
      if (run->curve.front().grid == run->grid && first->error(study.metric) <= group.target) ++met;
      if (last != first && last->error(study.metric) > first->error(study.metric)) ++above;
    }
    auto const count = [&](std::size_t of) {
      return group.runs.size() == 1 ? "" : format(" (%zu of %zu runs)", of, group.runs.size());
    };
    if (met > 0) {
      doubts.push_back(group.label + " met the target before training began" + count(met) +
                       ": its time to target says nothing about training. Set a lower "
                       "ablate.target_error, or study a network that has to learn.");
    }
    if (above > 0) {
      doubts.push_back(group.label + " ended above the error with which it began on " + group.grid +
                       count(above) + ": its steps there did harm. Lower cycle.rate there.");
    }
  }
  return doubts;
}

}  // namespace voxcycle
