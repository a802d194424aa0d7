// SPDX-License-Identifier: BSD-3-Clause
// voxcycle scale: a training step over numbers of processes: strong, weak, and in space.
#include "voxcycle/study/scale.hpp"

#include "voxcycle/cli/command.hpp"
#include "voxcycle/comm/threads.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/study/child_process.hpp"

#include <cstdio>

#include "cli/output_files.hpp"

namespace voxcycle {
namespace {

int run_scale(Invocation const& call) {
  VOXCYCLE_REQUIRE(call.comm.size() == 1,
                   "scale starts its processes itself. Call it without mpirun.");
  require_outputs_of(call, {"json"});
  ScaleOptions options{.grid = call.count("grid"),
                       .batch = call.count("batch"),
                       .rounds = call.count("rounds").value_or(2),
                       .in_space = call.has("space"),
                       .cores = cores()};
  if (call.has("processes")) {
    options.processes = parse_process_counts("--processes", call.text("processes"));
  }
  if (call.has("launcher")) options.launcher = call.text("launcher");
  auto const report = scale(call.config, options);
  std::fputs(report.text.c_str(), stdout);
  if (call.has("json")) write_file_atomically(call.text("json"), report.json);
  return 0;
}

}  // namespace

Command scale_command() {
  return {
      "scale",
      "strong and weak scaling of a training step, or its scaling in space, on random fields",
      {{"processes", "LIST", "numbers of processes (default: 1,2,4,... up to the cores)"},
       {"grid", "N", "voxels along the longest edge (default: the finest level of the cycle)"},
       {"batch", "N", "global batch; of weak scaling on the first number (default: the level's)"},
       {"rounds", "N", "times that each is measured, in turn; the faster counts (default: 2)"},
       {"space", "",
        "instead: the batch on all processes together, each with a slab of every sample "
        "(run.spatial_processes)"},
       {"launcher", "TEXT", "how to start {} processes (default: mpirun -n {} ...; '': none)",
        Empty::allowed},
       {"json", "FILE", "where the figures go"}},
      run_scale};
}

}  // namespace voxcycle
