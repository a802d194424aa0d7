// SPDX-License-Identifier: BSD-3-Clause
// A run of a study, read from its directory.
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/study/child_process.hpp"
#include "voxcycle/train/run_record.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "study/ablate_runs.hpp"

namespace voxcycle {
namespace {

/// Held-out evaluations of a run, from its metrics.csv. Errors that are not finite stand there as
/// empty cells, but so does their loss; a training row has one.
std::vector<StudyPoint> curve_of(PlannedRun const& run) {
  auto const path = run.directory + "/metrics.csv";
  std::vector<StudyPoint> curve;
  if (!std::filesystem::exists(path)) return curve;
  for (auto const& row : metrics_from_csv(read_file(path))) {
    if (!std::isnan(row.loss)) continue;
    curve.push_back({row.stage, row.grid, row.step, row.seconds, static_cast<double>(row.work),
                     row.rel_l2_mean, row.energy_gap_mean, row.energy_norm_error_mean});
  }
  return curve;
}

/// The last error among the last lines of a log; "" if there is none.
std::string error_in(std::string const& path, std::size_t lines) {
  constexpr std::string_view mark = "[error] ";
  auto text = last_lines(path, lines);
  auto const at = text.rfind(mark);
  if (at == std::string::npos) return "";
  text.erase(0, at + mark.size());
  return text.substr(0, text.find('\n'));
}

/// The error that ended the run: its log ends with it, or, if it came before that was opened, the
/// output of its process has it. "" if it ended otherwise, or was a run of another config.
std::string failure_of(PlannedRun const& run) {
  if (!has_config_of(run)) return "";
  namespace fs = std::filesystem;
  std::error_code none;  // of files that are not there: the least time
  auto const log = run.directory + "/log.txt";
  bool const log_is_last =
      fs::last_write_time(log, none) > fs::last_write_time(output_of(run), none);
  return log_is_last ? error_in(log, 1) : error_in(output_of(run), 12);
}

}  // namespace

StudyRun read_run(PlannedRun const& planned) {
  StudyRun run;
  TrainOptions const options = train_options(planned.config);
  run.number = planned.number;
  run.label = planned.label;
  run.group = planned.group;
  run.case_name = planned.case_name;
  run.settings = planned.settings;
  run.directory = planned.directory;
  run.cycle = planned.config.text("cycle.name");
  int finest = 0;
  for (int level : options.path) {
    run.path.push_back(options.levels[static_cast<std::size_t>(level)].grid.label());
    finest = std::max(finest, level);
  }
  run.grid = options.levels[static_cast<std::size_t>(finest)].grid.label();
  run.loss = options.loss;
  run.norm = planned.config.text("network.norm");
  run.seed = planned.config.integer("run.seed");
  auto const state = progress_of(planned);
  run.state = to_string(state);
  run.finished = state == RunProgress::finished;
  if (run.finished || state == RunProgress::unfinished) run.curve = curve_of(planned);
  if (run.finished) {
    auto const text = read_file(done_path(planned));
    run.resources = text.substr(0, text.find('\n'));
  }
  if (run.finished && diverged(run)) run.state = "diverged";
  if (!run.finished && state != RunProgress::foreign) run.failure = failure_of(planned);
  if (!run.failure.empty()) run.state = "failed";
  return run;
}

}  // namespace voxcycle
