// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/study/runner.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/status_line.hpp"
#include "voxcycle/core/stop_signal.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/timer.hpp"

#include <chrono>
#include <filesystem>
#include <list>
#include <optional>
#include <thread>
#include <utility>

namespace voxcycle {
namespace {

/// Between two looks at runs under way.
constexpr std::chrono::milliseconds kPause{50};

struct ActiveRun {
  std::size_t number;
  ChildProcess child;
  Timer timer;
};

ChildProcess start(ProgramRun const& run) {
  return {own_command(run.launcher, run.processes, run.threads, run.arguments), run.log};
}

}  // namespace

bool run_all(std::size_t count, std::size_t jobs, std::function<ProgramRun(std::size_t)> const& run,
             std::function<void(EndedRun const&)> const& ended,
             std::function<void()> const& waiting) {
  StopSignal const stop;
  std::list<ActiveRun> active;
  bool stopped = false;
  for (std::size_t next = 0;;) {
    for (; !stopped && next < count && active.size() < jobs; ++next) {
      active.push_back({next, start(run(next)), {}});
    }
    if (active.empty()) return stopped;
    std::this_thread::sleep_for(kPause);
    waiting();
    if (!stopped && stop.requested()) {
      log_info("stopping all runs with a checkpoint");
      for (auto& one : active) one.child.request_stop();
      stopped = true;
    }
    for (auto one = active.begin(); one != active.end();) {
      auto const status = one->child.poll();
      if (status) ended({one->number, *status, one->timer.seconds(), stopped});
      one = status ? active.erase(one) : std::next(one);
    }
  }
}

ScratchRuns::ScratchRuns(Config config, std::string const& name, std::string launcher, int threads)
    : directory_(config.text("run.directory") + "/" + name),
      launcher_(std::move(launcher)),
      threads_(threads) {
  std::filesystem::remove_all(directory_);
  config.set("run.threads", std::to_string(threads));
  write_file_atomically(file("config.cfg"), config.dump());
}

void ScratchRuns::run(std::string const& log, std::int64_t processes,
                      std::vector<std::string> arguments) const {
  arguments.insert(arguments.end(), {"--config", file("config.cfg")});
  ChildProcess child = start({std::move(arguments), file(log), launcher_, processes, threads_});
  StatusLine line(StatusLine::Visible::yes, StatusLine::First::after_a_pause);
  Timer const timer;
  std::optional<int> ended;
  for (; !ended; ended = child.poll()) {
    line.show([&] {
      return format("waiting for %s  %s", log.c_str(), format_seconds(timer.seconds()).c_str());
    });
    std::this_thread::sleep_for(kPause);
  }
  line.erase();
  int const status = *ended;
  VOXCYCLE_REQUIRE(status == 0, "the run on "
                                    << processes << " processes failed. If the launcher is not "
                                    << "mpirun, give it with --launcher 'srun -n {}' or 'srun "
                                    << "--mpi=pmix -n {}'. The end of " << file(log) << ":\n"
                                    << last_lines(file(log)));
}

std::string process_count_text(std::int64_t count) {
  return counted(count, "process", "processes");
}

}  // namespace voxcycle
