// SPDX-License-Identifier: BSD-3-Clause
// voxcycle scale: a training step over numbers of processes: strong, weak, and in space.
#include "voxcycle/study/scale.hpp"

#include "voxcycle/cli/command.hpp"
#include "voxcycle/comm/threads.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/printable.hpp"
#include "voxcycle/core/usage_error.hpp"
#include "voxcycle/study/child_process.hpp"

#include <cstdio>

#include "cli/output_files.hpp"

namespace voxcycle {
namespace {

ScalePart part_of(Invocation const& call) {
  bool const submits = call.has("submit"), reports = call.has("report");
  VOXCYCLE_REQUIRE_USAGE(
      !reports || !(submits || call.has("fresh")),
      "--report shows what is measured, and --submit and --fresh measure. Choose one.");
  return submits ? ScalePart::submit : reports ? ScalePart::report : ScalePart::measure;
}

int run_scale(Invocation const& call) {
  VOXCYCLE_REQUIRE_USAGE(call.comm.size() == 1,
                         "scale starts its processes itself. Call it without mpirun.");
  require_outputs_of(call, {"json"});
  ScaleOptions options{.grid = call.count("grid"),
                       .batch = call.count("batch"),
                       .in_space = call.has("space"),
                       .cores = cores(),
                       .part = part_of(call),
                       .fresh = call.has("fresh")};
  options.repeats = call.count("repeats").value_or(options.repeats);
  if (call.has("processes")) {
    options.processes = parse_process_counts("--processes", call.text("processes"));
  }
  if (call.has("model")) options.network = call.text("model");
  if (call.has("launcher")) options.launcher = call.text("launcher");
  auto const report = scale(call.config, options);
  print("%s", report.text.c_str());
  if (call.has("json")) write_file_atomically(call.text("json"), report.json);
  return 0;
}

}  // namespace

Command scale_command() {
  return {
      "scale",
      "strong and weak scaling of a training step, or that in space",
      {{"processes", "LIST", "numbers of processes (default: 1,2,4,... up to the cores)"},
       {"grid", "N", "voxels along the longest edge (default: the finest level of the cycle)"},
       {"batch", "N", "global batch; of weak scaling on the first number (default: the level's)"},
       {"repeats", "N", "times that each is measured, by turns (default: 3)"},
       {"space", "",
        "instead: the batch on all processes together, each with a slab of every sample "
        "(run.spatial_processes)"},
       {"model", "NETWORK",
        "predict up to 4096 processes on a network: 10gbe, 25gbe, hdr, ndr, nvlink; "
        "LATENCY,BANDWIDTH in microseconds and GB/s; or a file of bench network --json"},
       {"submit", "", "submit a Slurm job (slurm/scale.sbatch) for each number instead"},
       {"report", "", "only write the page, from the measurements that are there"},
       {"fresh", "", "measure anew what is there already"},
       {"launcher", "TEXT", "how to start {} processes (default: mpirun -n {} ...; '': none)",
        Empty::allowed},
       {"json", "FILE", "where the figures go as well"}},
      run_scale};
}

}  // namespace voxcycle
