// SPDX-License-Identifier: BSD-3-Clause
// A study in sentences: what it found, and where its figures say little.
#include "voxcycle/core/text.hpp"
#include "voxcycle/study/study.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

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
  auto [mean, low, high] = group.speedup;
  if (!std::isfinite(mean)) return "";
  bool const later = mean < 1.0;
  if (later) mean = 1.0 / mean, low = 1.0 / std::exchange(high, 1.0 / low);
  auto text = group.label + " reaches " + target + format(" %.1f", mean);
  if (runs > 1) text += format(" (%.1f to %.1f)", low, high);
  text += later ? " times later" : " times sooner";
  return text + (study.target > 0 ? " than " + group.baseline : "") + ".";
}

}  // namespace

std::vector<std::string> findings_of(Study const& study, std::vector<StudyGroup> const& groups) {
  std::vector<std::string> findings;
  for (auto const& group : groups) {
    bool const own_baseline = group.baseline.empty() || group.baseline == group.label;
    if (own_baseline || !group.complete() || std::isnan(group.target)) continue;
    if (auto text = sentence_of(study, group); !text.empty()) findings.push_back(std::move(text));
  }
  return findings;
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
