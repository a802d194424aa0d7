// SPDX-License-Identifier: BSD-3-Clause
// From the runs' results to study.html, ablation.json and ablation.csv.
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/build_info.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/printable.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/study/study.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>

#include "study/ablate_runs.hpp"

namespace voxcycle {
namespace {

std::string vary_text(ConfigStudy const& study) {
  std::string text;
  for (auto const& [key, values] : study.vary) {
    text += (text.empty() ? "" : "; ") + key + ": " + join(values, " | ");
  }
  return text.empty() ? "nothing but the cases" : text;
}

std::string cases_text(ConfigStudy const& study) {
  std::string text;
  for (auto const& one : study.cases) {
    std::vector<std::string> settings;
    for (auto const& [key, value] : one.settings) settings.push_back(key + " = " + value);
    text += (text.empty() ? "" : "; ") + one.name +
            (settings.empty() ? "" : " (" + join(settings) + ")");
  }
  return text.empty() ? "one" : text;
}

std::string equation_of(Config const& config) {
  return "f: " + to_string(source_of(config)) +
         "; faces x-, x+, y-, y+, z-, z+: " + to_string(boundary_of(config));
}

std::string each_once(std::set<std::string> const& texts) {
  return join({texts.begin(), texts.end()}, " | ");
}

Study read_study(Config const& config, std::vector<PlannedRun> const& runs,
                 Communicator const& self) {
  Study study;
  study.title = "voxcycle study: " + config.text("ablate.directory");
  auto const& cases = config.study().cases;
  study.baseline = config.text("ablate.baseline");
  if (study.baseline.empty() && !cases.empty()) study.baseline = cases.front().name;
  study.metric = parse_study_metric(config.text("ablate.target_metric"));
  study.target = config.real("ablate.target_error", 0.0, 1e6);
  auto const samples = config.integer("ablate.spectrum_samples", 0, 1 << 20);
  std::size_t finished = 0;
  std::size_t diverging = 0;
  std::set<std::string> equations;
  std::set<std::string> resources;
  for (auto const& planned : runs) {
    study.runs.push_back(read_run(planned));
    auto& run = study.runs.back();
    equations.insert(equation_of(planned.config));
    if (!run.finished) continue;
    ++finished;
    if (!run.resources.empty()) resources.insert(run.resources);
    if (diverged(run)) ++diverging;
    try {
      run.spectra = spectra_of_run(planned, samples, self);
    } catch (Error const& error) {
      log_warning(format("run %d, %s, is without spectra: ", run.number, run.label.c_str()) +
                  error.what());
    }
  }
  study.summary = {{"runs", format("%zu of %zu finished", finished, runs.size()) +
                                (diverging > 0 ? format(", %zu of them diverged", diverging) : "")},
                   {"cases", cases_text(config.study())},
                   {"varied", vary_text(config.study())},
                   {"equation", "-div(nu grad u) = f; " + each_once(equations)},
                   {"a run", resources.empty() ? "not known" : each_once(resources)},
                   {"program", std::string("voxcycle ") + build_info::version + ", commit " +
                                   build_info::commit}};
  study.config = config.dump();
  return study;
}

/// For the terminal: one line a group.
std::string group_table(std::vector<StudyGroup> const& groups) {
  auto const time_to_target = [](StudyGroup const& group) -> std::string {
    auto const reached = group.seconds_to_target.size();
    if (reached == 0) return std::isnan(group.target) ? "no target" : "not reached";
    auto const text = format_seconds(spread_of(group.seconds_to_target).mean);
    return reached == group.runs.size()
               ? text
               : text + format(" (%zu of %zu)", reached, group.runs.size());
  };
  std::size_t width = 5;
  for (auto const& group : groups) width = std::max(width, group.label.size());
  auto text = format("%-*s %5s %12s %12s %12s %20s %9s\n", static_cast<int>(width), "group", "runs",
                     "relative L2", "energy gap", "energy norm", "to target", "speed-up");
  for (auto const& group : groups) {
    text += format("%-*s %5s ", static_cast<int>(width), group.label.c_str(),
                   format("%zu/%zu", group.runs.size(), group.planned).c_str());
    if (group.runs.empty()) {
      text += "not finished\n";
      continue;
    }
    text +=
        format("%12s %12s %12s %20s %9s", format_percent(group.rel_l2.mean).c_str(),
               format_percent(group.energy_gap.mean).c_str(),
               format_percent(group.energy_norm.mean).c_str(), time_to_target(group).c_str(),
               std::isnan(group.speedup.mean) ? "-" : format("%.2f", group.speedup.mean).c_str());
    text += (group.diverged > 0 ? "  " + divergence_of(group) : "") + "\n";
  }
  return text;
}

}  // namespace

void write_study_report(Config const& config, std::vector<PlannedRun> const& runs,
                        Communicator const& self) {
  auto const study = read_study(config, runs, self);
  auto const directory = config.text("ablate.directory");
  write_files_atomically({{directory + "/study.html", render_study(study)},
                          {directory + "/ablation.json", study_json(study)},
                          {directory + "/ablation.csv", study_csv(study)}});
  auto const groups = groups_of(study);
  print("%s", group_table(groups).c_str());
  for (auto const& run : study.runs) {
    if (run.finished) continue;
    print("missing: run %d, %s: %s%s\n", run.number, run.label.c_str(), run.state.c_str(),
          run.failure.empty() ? "" : (": " + run.failure).c_str());
  }
  for (auto const& doubt : doubts_of(study, groups)) log_warning(doubt);
  auto const findings = findings_of(study, groups);
  for (auto const& finding : findings) print("%s\n", finding.c_str());
  if (findings.size() > 1) print("%s\n", result_of(study, groups).c_str());
  print("written: %s/study.html, ablation.json, ablation.csv\n", directory.c_str());
}

}  // namespace voxcycle
