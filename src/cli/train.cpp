// SPDX-License-Identifier: BSD-3-Clause
// voxcycle train: one training, or those of an ensemble.
#include "voxcycle/cli/command.hpp"
#include "voxcycle/comm/device_choice.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/exit_status.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/printable.hpp"
#include "voxcycle/study/ensemble_plan.hpp"
#include "voxcycle/train/slow_precision.hpp"

#include <cstdio>
#include <utility>
#include <vector>

#include "cli/train_ensemble.hpp"
#include "cli/train_run.hpp"

namespace voxcycle {
namespace {

/// The command's exit status; rank 0 says how to go on.
int status_of(TrainEnd const& end, Invocation const& call) {
  if (end.finished) return 0;
  if (call.comm.rank() == 0 && end.gained) {
    print("stopped; the same command%s goes on from the checkpoint in %s\n",
          call.has("fresh") ? " without --fresh" : "", call.config.text("run.directory").c_str());
  } else if (call.comm.rank() == 0) {
    log_error(kNothingGained);
  }
  return end.gained ? kStopped : 1;
}

int run_train(Invocation const& asked) {
  DeviceChoice place(device_options(asked.config), asked.comm);
  Invocation const call = with_spatial_processes(asked, place);
  std::vector<PlannedRun> runs;
  call.comm.together([&] { runs = plan_ensemble(call.config); });
  if (is_ensemble(call.config)) return status_of(train_ensemble(call, runs, place), call);
  auto training = training_of(call.config, call, place, call.comm);
  warn_of_slow_precision(training.options, call.comm);
  if (call.has("dry-run")) {  // of a chain, too, whose train.start is not trained yet
    auto const text = dry_run(training, training.config, place, place.comm());
    if (call.comm.rank() == 0) print("%s", text.c_str());
    return 0;
  }
  require_sound(training, training.config, place, call.comm);
  auto const summary = carry_out(std::move(training), place, place.comm());
  return status_of({summary.finished, summary.gained}, call);
}

}  // namespace

Command train_command() {
  return {"train",
          "train along a resolution cycle (mpirun -n N for N processes)",
          {{"fresh", "", "start over even if the run directory holds a run"},
           {"trace", "N",
            "the first N steps of each stage as trace.json in the run directory, for Perfetto"},
           {"dry-run", "", "print path, budgets, predicted time and memory; train nothing"}},
          run_train};
}

}  // namespace voxcycle
