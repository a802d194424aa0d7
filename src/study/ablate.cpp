// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/study/ablate.hpp"

#include "voxcycle/comm/device_choice.hpp"
#include "voxcycle/config/memory_check.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/directory_lock.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/exit_status.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/printable.hpp"
#include "voxcycle/core/stop_signal.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/dataset/generate.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/study/child_process.hpp"
#include "voxcycle/study/study.hpp"
#include "voxcycle/train/memory.hpp"
#include "voxcycle/train/run_directory.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>

#include "study/ablate_runs.hpp"

namespace voxcycle {
namespace {

/// The run asked for by --run K.
PlannedRun const& run_of(std::vector<PlannedRun> const& runs, std::string const& text) {
  auto const number = parse_number<std::size_t>(text);
  VOXCYCLE_REQUIRE(number >= 1 && number <= runs.size(),
                   "--run " << text << " is no run of this study. Give a number from 1 to "
                            << runs.size() << "; --list shows them.");
  return runs[*number - 1];
}

/// @throws Error as `check` does, naming the run.
template <class Check>
void require_of_each(std::vector<PlannedRun> const& runs, Check const& check) {
  for (auto const& run : runs) {
    try {
      check(run);
    } catch (Error const& error) {
      throw Error(format("run %d, %s: ", run.number, run.label.c_str()) + error.what());
    }
  }
}

/// All that a run is made of, so that a wrong value shows before the first run and not hours later.
void require_valid_run(PlannedRun const& run) {
  auto const options = train_options(run.config);
  make_family(family_options(run.config));
  for (auto const& stage : plan_stages(options.path, options.levels)) {
    require_fits(options.network, stage.plan.grid);
    require_spatial(options, stage.plan.grid, run.config.integer("ablate.processes", 1, 1 << 20));
    // Knows losses and optimisers; the processes of a group will do.
    predict_memory(options, stage.plan, {.ranks = options.slabs.processes(stage.plan.grid)});
  }
}

/// Where a run is to begin with, unless it has begun.
void require_start_of(PlannedRun const& run) {
  if (progress_of(run) == RunProgress::not_begun) require_start(train_options(run.config));
}

/// What only the report reads, likewise.
void require_report_options(Config const& config) {
  try {
    parse_study_metric(config.text("ablate.target_metric"));
  } catch (Error const& problem) {
    throw Error(std::string("ablate.target_metric: ") + problem.what());
  }
  config.real("ablate.target_error", 0.0, 1e6);
  config.integer("ablate.spectrum_samples", 0, 1 << 20);
}

/// Whether the run's shards are what training asks for, without a look at each sample.
bool has_shards(PlannedRun const& run) {
  try {
    require_training_shards(dataset_options(run.config), grids_of(train_options(run.config)));
  } catch (Error const&) {
    return false;  // generate says why
  }
  return true;
}

/// Shards of the data that unfinished runs need, up to a stop.
GenerateResult generate_missing_shards(std::vector<PlannedRun> const& runs,
                                       Communicator const& comm) {
  std::set<std::string> done;
  GenerateResult all{.complete = true};
  for (auto const& run : runs) {
    if (progress_of(run) == RunProgress::finished) continue;
    if (!done.insert(data_fingerprint(run.config)).second) continue;
    DeviceChoice const place(device_options(run.config), comm);
    auto const one = generate_shards(dataset_options(run.config), comm, place.device(),
                                     memory_frame(run.config, comm).limit);
    all.made += one.made;
    all.complete = one.complete;
    if (!all.complete) break;
  }
  return all;
}

/// One line a run: number, state, directory, label.
void print_list(std::vector<PlannedRun> const& runs) {
  std::size_t longest = 0;
  for (auto const& run : runs) longest = std::max(longest, run.directory.size());
  for (auto const& run : runs) {
    print("%4d  %-18s %-*s  %s\n", run.number, read_run(run).state.c_str(),
          static_cast<int>(longest), run.directory.c_str(), run.label.c_str());
  }
}

/// What --run says: a job of an array is on a machine, or a place, of its own.
RunsOptions runs_options(Config const& config, AblatePart part) {
  RunsOptions const options{.jobs = config.integer("ablate.jobs", 1, 4096),
                            .processes = config.integer("ablate.processes", 1, 1 << 20),
                            .launcher = config.text("ablate.launcher")};
  if (options.processes > 1) require_room(options.launcher, options.processes);
  return part == AblatePart::run ? RunsOptions{1, options.processes, options.launcher} : options;
}

}  // namespace

int ablate(Config const& config, AblatePart part, std::string const& run,
           Communicator const& self) {
  auto const runs = plan_study(config);
  require_report_options(config);
  require_of_each(runs, require_valid_run);
  auto const options = runs_options(config, part);
  if (part == AblatePart::list) {
    print_list(runs);
    return 0;
  }
  if (part == AblatePart::report) {
    write_study_report(config, runs, self);
    return 0;
  }
  // Jobs of an array share the study; two calls for all of it would overwrite each other's outputs.
  bool const only_run = part == AblatePart::run;
  std::optional<DirectoryLock> lock;
  if (!only_run) lock.emplace(config.text("ablate.directory"), "ablate.directory");
  auto const chosen = only_run ? std::vector<PlannedRun>{run_of(runs, run)} : runs;
  if (part != AblatePart::data) require_of_each(chosen, require_start_of);
  StopSignal const stop;  // from the first shard to the last run
  // Tasks of an array would each read all data.
  bool const known = only_run && has_shards(chosen.front());
  if (!known) {
    auto const generated = generate_missing_shards(chosen, self);
    if (!generated.complete) {
      return status_of(generated, chosen.front().config.text("data.directory"), self);
    }
  }
  if (part == AblatePart::data) return 0;
  auto const result = train_runs(chosen, options);
  if (result.stopped && !result.gained) {
    log_error(kNothingGained);
    return 1;
  }
  if (result.stopped) {
    print("stopped; the same command goes on from the checkpoints in %s\n",
          config.text("ablate.directory").c_str());
    return kStopped;
  }
  if (!only_run) write_study_report(config, runs, self);
  return result.failed.empty() ? 0 : 1;
}

}  // namespace voxcycle
