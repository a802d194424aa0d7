// SPDX-License-Identifier: BSD-3-Clause
#include "study/ablate_runs.hpp"

#include "voxcycle/config/options.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/exit_status.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/memory.hpp"
#include "voxcycle/core/status_line.hpp"
#include "voxcycle/core/stop_signal.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/timer.hpp"
#include "voxcycle/study/runner.hpp"
#include "voxcycle/study/runs_left.hpp"
#include "voxcycle/train/checkpoint.hpp"
#include "voxcycle/train/run_directory.hpp"
#include "voxcycle/train/run_record.hpp"
#include "voxcycle/train/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <ATen/Parallel.h>

namespace voxcycle {
namespace {

namespace fs = std::filesystem;

/// Of the run that the directory holds; empty if it cannot be told.
Fingerprint fingerprint_in(std::string const& directory) {
  try {
    Config there;
    there.read_file(directory + "/config.cfg");
    return settled(there).fingerprint();
  } catch (Error const&) {
    return {};  // of a program with other keys
  }
}

/// How the directory's run differs, in brackets; "" if that cannot be told.
std::string difference_to(PlannedRun const& run) {
  auto const there = fingerprint_in(run.directory);
  auto const difference = first_difference(there, settled(run.config).fingerprint());
  return there.empty() || !difference ? "" : " (" + difference->text() + ")";
}

/// Held-out evaluations of a run, from its checkpoint, which has checksums. Errors that are not
/// finite stand there as empty cells, but so does their loss; a training row has one.
/// @throws Error if it is damaged
std::vector<StudyPoint> curve_of(PlannedRun const& run) {
  auto const path = checkpoint_path(run.directory);
  std::vector<StudyPoint> curve;
  if (!std::filesystem::exists(path)) return curve;
  for (auto const& row : metrics_from_csv(CheckpointReader(path).header().metrics)) {
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

/// The last held-out errors and the training time of a finished run.
std::string final_figures(PlannedRun const& planned) {
  auto const run = read_run(planned);
  auto const* final = final_point(run);
  if (final == nullptr) return "without a held-out evaluation";
  auto const& last = *final;
  return format("%s of training, relative L2 %s, energy gap %s, energy-norm error %s%s",
                format_seconds(last.seconds).c_str(), format_percent(last.rel_l2).c_str(),
                format_percent(last.energy_gap).c_str(), format_percent(last.energy_norm).c_str(),
                diverged(run) ? ", diverged" : "");
}

/// The runs of one call of train_runs.
class Session {
 public:
  Session(std::vector<PlannedRun> const& runs, RunsOptions const& options)
      : options_(options), total_(runs.size()) {
    threads_ =
        std::max(1, at::get_num_threads() / static_cast<int>(options.jobs * options.processes));
    for (auto const& run : runs) {
      switch (progress_of(run)) {
        case RunProgress::finished:
          ++finished_;
          break;
        case RunProgress::foreign:
          fail(run, run.directory + " holds a run of another config" + difference_to(run) +
                        ". Remove it, or choose another ablate.directory.");
          break;
        default:
          open_.push_back(&run);
      }
    }
    if (finished_ > 0) {
      log_info(format("%zu of %zu runs are finished already", finished_, total_));
    }
  }

  RunsResult train() {
    result_.stopped = run_all(
        open_.size(), static_cast<std::size_t>(options_.jobs),
        [&](std::size_t number) { return begin(*open_[number]); },
        [&](EndedRun const& ended) { conclude(*open_[ended.number], ended); }, [&] { show(); });
    return result_;
  }

 private:
  ProgramRun begin(PlannedRun const& run) {
    auto const config = run.directory + "/config.cfg";
    // Also of a run that goes on: places, threads and memory may be others now.
    write_file_atomically(config, run.config.dump());
    std::vector<std::string> arguments{"train", "--config", config, "--run.directory",
                                       run.directory};
    if (auto const limit = memory_limit(run); !limit.empty()) {
      arguments.insert(arguments.end(), {"--run.memory_limit", limit});
    }
    active_.push_back(&run);
    line_.erase();
    log_info(format("run %d starts: %s; its output is in %s", run.number, run.label.c_str(),
                    output_of(run).c_str()));
    return {arguments, output_of(run), options_.processes > 1 ? options_.launcher : "",
            options_.processes, threads_};
  }

  /// GiB a process where several runs share this machine's memory, which each would take for its
  /// own; "" where the config says, where a GPU's memory counts or a launcher chooses machines.
  std::string memory_limit(PlannedRun const& run) const {
    bool const here = options_.processes == 1 || options_.launcher == kLauncher;
    bool const open = run.config.real("run.memory_limit", 0.0, 1e6) == 0.0;
    if (options_.jobs == 1 || !here || !open || run.config.text("run.device") != "cpu") return "";
    double const runs = static_cast<double>(options_.jobs * options_.processes);
    return format("%.6g", usable_memory_bytes() / runs / kGib);
  }

  /// What is left of all runs, and how far those under way are.
  void show() {
    line_.show([&] {
      std::vector<double> shares;
      std::string each;
      for (auto const* run : active_) {
        auto const told = last_lines(output_of(*run));
        shares.push_back(told_share(told));
        each += format("  run %d: %.0f %%", run->number, 100.0 * shares.back());
      }
      std::size_t const to_come = open_.size() - ended_ - active_.size();
      double const left =
          seconds_left_of_runs(clock_.seconds(), static_cast<double>(ended_), shares, to_come);
      return format("%zu of %zu runs", finished_, total_) +
             (std::isnan(left) ? "" : "  left " + format_seconds(left)) + each;
    });
  }

  void conclude(PlannedRun const& run, EndedRun const& ended) {
    ++ended_;
    std::erase(active_, &run);
    line_.erase();
    if (progress_of(run) == RunProgress::finished) {
      ++finished_;
      result_.gained = true;
      log_info(format("%zu of %zu: run %d, %s, after %s: %s", finished_, total_, run.number,
                      run.label.c_str(), format_seconds(ended.seconds).c_str(),
                      final_figures(run).c_str()));
    } else if (ended.stopped) {
      result_.gained = result_.gained || ended.status == kStopped;
      log_info(format("run %d, %s, is stopped", run.number, run.label.c_str()));
    } else {
      // A run that ends unfinished without an error was stopped by somebody else.
      fail(run, format("it ended with status %d. The end of %s:\n", ended.status,
                       output_of(run).c_str()) +
                    last_lines(output_of(run)));
    }
  }

  void fail(PlannedRun const& run, std::string const& reason) {
    result_.failed.push_back(run.number);
    log_error(format("run %d, %s: ", run.number, run.label.c_str()) + reason);
  }

  RunsOptions const& options_;
  std::size_t total_;
  std::size_t finished_ = 0;
  int threads_ = 1;
  std::vector<PlannedRun const*> open_, active_;
  std::size_t ended_ = 0;
  Timer clock_;
  StatusLine line_{StatusLine::Visible::yes, StatusLine::First::after_a_pause};
  RunsResult result_;
};

}  // namespace

std::string to_string(RunProgress state) {
  switch (state) {
    case RunProgress::not_begun:
      return "not begun";
    case RunProgress::unfinished:
      return "unfinished";
    case RunProgress::finished:
      return "finished";
    case RunProgress::foreign:
      return "of another config";
  }
  return "";
}

std::string output_of(PlannedRun const& run) {
  return run.directory + "/output.txt";
}

std::string done_path(PlannedRun const& run) {
  return run.directory + "/DONE";
}

bool has_config_of(PlannedRun const& run) {
  return !first_difference(fingerprint_in(run.directory), settled(run.config).fingerprint());
}

RunProgress progress_of(PlannedRun const& run) {
  bool const done = fs::exists(done_path(run));
  if (!done && !fs::exists(checkpoint_path(run.directory))) return RunProgress::not_begun;
  if (!has_config_of(run)) return RunProgress::foreign;
  return done ? RunProgress::finished : RunProgress::unfinished;
}

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
  try {
    if (run.finished || state == RunProgress::unfinished) run.curve = curve_of(planned);
  } catch (Error const& damage) {
    log_warning(format("run %d, %s, is left out: ", run.number, run.label.c_str()) + damage.what());
    run.finished = false;
    run.failure = damage.what();
    run.state = "damaged";
    return run;
  }
  if (run.finished) {
    auto const text = read_file(done_path(planned));
    run.resources = text.substr(0, text.find('\n'));
  }
  if (run.finished && diverged(run)) run.state = "diverged";
  if (!run.finished && state != RunProgress::foreign) run.failure = failure_of(planned);
  if (!run.failure.empty()) run.state = "failed";
  return run;
}

RunsResult train_runs(std::vector<PlannedRun> const& runs, RunsOptions const& options) {
  return Session(runs, options).train();
}

}  // namespace voxcycle
