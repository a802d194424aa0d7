// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/study/ablate_runs.hpp"

#include "voxcycle/config/options.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/exit_status.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/memory.hpp"
#include "voxcycle/core/stop_signal.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/timer.hpp"
#include "voxcycle/study/ablate_results.hpp"
#include "voxcycle/study/child_process.hpp"
#include "voxcycle/train/checkpoint.hpp"
#include "voxcycle/train/run_directory.hpp"
#include "voxcycle/train/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <list>
#include <thread>

#include <ATen/Parallel.h>

namespace voxcycle {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kPause{50};

/// The identity of the run that the directory holds; "" if it cannot be told.
std::string identity_in(std::string const& directory) {
  try {
    Config there;
    there.read_file(directory + "/config.cfg");
    return settled(there).identity();
  } catch (Error const&) {
    return "";  // of a program with other keys
  }
}

/// How the directory's run differs, in brackets; "" if that cannot be told.
std::string difference_to(PlannedRun const& run) {
  auto const there = identity_in(run.directory);
  auto const lines = first_difference(there, settled(run.config).identity());
  return there.empty() || !lines ? "" : " (" + lines->text() + ")";
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
          waiting_.push_back(&run);
      }
    }
    if (finished_ > 0) {
      log_info(format("%zu of %zu runs are finished already", finished_, total_));
    }
  }

  bool busy() const { return !active_.empty(); }

  void start_what_fits() {
    while (!waiting_.empty() && active_.size() < static_cast<std::size_t>(options_.jobs)) {
      start(*waiting_.front());
      waiting_.pop_front();
    }
  }

  void collect() {
    for (auto at = active_.begin(); at != active_.end();) {
      auto const status = at->child.poll();
      if (!status) {
        ++at;
        continue;
      }
      conclude(*at, *status);
      at = active_.erase(at);
    }
  }

  void request_stop() {
    waiting_.clear();
    for (auto& one : active_) one.child.request_stop();
    result_.stopped = true;
  }

  RunsResult const& result() const { return result_; }

 private:
  struct Active {
    PlannedRun const& run;
    ChildProcess child;
    Timer timer;
  };

  void start(PlannedRun const& run) {
    auto const config = run.directory + "/config.cfg";
    // Also of a run that goes on: places, threads and memory may be others now.
    write_file_atomically(config, run.config.dump());
    std::vector<std::string> arguments{"train", "--config", config, "--run.directory",
                                       run.directory};
    if (auto const limit = memory_limit(run); !limit.empty()) {
      arguments.insert(arguments.end(), {"--run.memory_limit", limit});
    }
    auto const command = own_command(options_.processes > 1 ? options_.launcher : "",
                                     options_.processes, threads_, arguments);
    log_info(format("run %d starts: %s; its output is in %s", run.number, run.label.c_str(),
                    output_of(run).c_str()));
    active_.push_back({run, ChildProcess(command, output_of(run)), {}});
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

  void conclude(Active const& one, int status) {
    auto const& run = one.run;
    if (progress_of(run) == RunProgress::finished) {
      ++finished_;
      result_.gained = true;
      log_info(format("%zu of %zu: run %d, %s, after %s: %s", finished_, total_, run.number,
                      run.label.c_str(), format_seconds(one.timer.seconds()).c_str(),
                      final_figures(run).c_str()));
    } else if (result_.stopped) {
      result_.gained = result_.gained || status == kStopped;
      log_info(format("run %d, %s, is stopped", run.number, run.label.c_str()));
    } else {
      // A run that ends unfinished without an error was stopped by somebody else.
      fail(run,
           format("it ended with status %d. The end of %s:\n", status, output_of(run).c_str()) +
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
  std::list<PlannedRun const*> waiting_;
  std::list<Active> active_;
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
  return same_identity(identity_in(run.directory), settled(run.config).identity());
}

RunProgress progress_of(PlannedRun const& run) {
  bool const done = fs::exists(done_path(run));
  if (!done && !fs::exists(checkpoint_path(run.directory))) return RunProgress::not_begun;
  if (!has_config_of(run)) return RunProgress::foreign;
  return done ? RunProgress::finished : RunProgress::unfinished;
}

RunsResult train_runs(std::vector<PlannedRun> const& runs, RunsOptions const& options) {
  StopSignal const stop;
  Session session(runs, options);
  session.start_what_fits();
  while (session.busy()) {
    std::this_thread::sleep_for(kPause);
    if (!session.result().stopped && stop.requested()) {
      log_info("stopping all runs with a checkpoint");
      session.request_stop();
    }
    session.collect();
    if (!session.result().stopped) session.start_what_fits();
  }
  return session.result();
}

}  // namespace voxcycle
