// SPDX-License-Identifier: BSD-3-Clause
// voxcycle verify: the same short training on several numbers of processes, and stopped and gone on
// with on changing numbers, compared bit by bit.
#include "voxcycle/study/verify.hpp"

#include "voxcycle/cli/command.hpp"
#include "voxcycle/comm/device_choice.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/printable.hpp"
#include "voxcycle/core/usage_error.hpp"
#include "voxcycle/study/child_process.hpp"

#include <cstdio>

#include "cli/output_files.hpp"

namespace voxcycle {
namespace {

int run_worker(Invocation const& call) {
  require_started(call.comm.size(), call.count("processes").value_or(0));
  DeviceChoice place(device_options(call.config), call.comm);
  TrainOptions options = train_options(call.config);
  options.device = place.device();
  options.restart = call.has("fresh") ? Restart::fresh : Restart::resume;
  options.stop_after_steps = call.count("stop-after").value_or(options.stop_after_steps);
  verify_worker(options, place.comm(), call.text("worker"));
  return 0;
}

int run_verify(Invocation const& call) {
  if (call.has("worker")) return run_worker(call);
  VOXCYCLE_REQUIRE_USAGE(call.comm.size() == 1,
                         "verify starts its processes itself. Call it without mpirun.");
  for (char const* own : {"processes", "fresh", "stop-after"}) {  // of its workers
    VOXCYCLE_REQUIRE_USAGE(!call.has(own),
                           "unknown option --"
                               << own
                               << " of verify. Numbers of processes are those of --ranks, "
                                  "e.g. --ranks 1,2,3.");
  }
  require_outputs_of(call, {"json"});
  VerifyOptions options;
  if (call.has("ranks")) options.ranks = parse_process_counts("--ranks", call.text("ranks"));
  options.steps = call.text("steps", options.steps);
  options.launcher = call.text("launcher", options.launcher);
  options.in_space = call.has("space");
  auto const report = verify(call.config, options);
  print("%s", report.text.c_str());
  if (call.has("json")) write_file_atomically(call.text("json"), report.json);
  return report.identical ? 0 : 1;
}

}  // namespace

Command verify_command() {
  return {"verify",
          "that a training has the same bits on any number of processes",
          {{"ranks", "LIST", "numbers of processes to compare (default: 1,2,3)"},
           {"steps", "N", "steps per stage (default: 5)"},
           {"space", "",
            "all processes together on each sample, in the same parts (run.spatial_parts; default: "
            "the most processes)"},
           {"launcher", "TEXT", "how to start {} processes (default: mpirun -n {} ...; '': none)",
            Empty::allowed},
           {"json", "FILE", "where the result goes: identical, ranks, steps, first_difference"},
           {"worker", "FILE", ""},
           {"processes", "N", ""},
           {"fresh", "", ""},
           {"stop-after", "N", ""}},
          run_verify};
}

}  // namespace voxcycle
