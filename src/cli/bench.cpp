// SPDX-License-Identifier: BSD-3-Clause
// voxcycle bench: medians of repeated runs, and ratios measured side by side in the same run.
#include "voxcycle/bench/bench.hpp"

#include "voxcycle/cli/command.hpp"
#include "voxcycle/comm/device_choice.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/printable.hpp"
#include "voxcycle/core/registry.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/usage_error.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "cli/output_files.hpp"

namespace voxcycle {
namespace {

/// What a bench needs beside memory and disk.
enum class Uses { host, device, devices_together };

struct Subject {
  BenchResult (*run)(BenchOptions const&);
  Uses uses;
  std::vector<std::string> flags;  ///< besides --json
};

/// One line per subject, in the order of the help.
Registry<Subject> const kSubjects{
    "bench",
    {
        {"energy", {bench_energy, Uses::device, {"grid", "repeats"}}},
        {"step",
         {bench_step,
          Uses::devices_together,
          {"grid", "batch", "reduction", "no-baseline", "profile", "read", "repeats"}}},
        {"loss", {bench_loss, Uses::device, {"grid", "batch", "repeats"}}},
        {"conv", {bench_conv, Uses::devices_together, {"grid", "batch", "channels", "repeats"}}},
        {"reference", {bench_reference, Uses::device, {"grid", "field"}}},
        {"io", {bench_io, Uses::host, {"grid", "batch", "samples", "repeats"}}},
        {"network", {bench_network, Uses::devices_together, {"repeats"}}},
    }};

BenchResult measure(Invocation const& call, Subject const& subject) {
  std::optional<DeviceChoice> place;
  if (subject.uses != Uses::host) place.emplace(device_options(call.config), call.comm);
  BenchOptions options{
      .config = call.config,
      .comm = call.comm,
      .device_comm = subject.uses == Uses::devices_together ? place->comm() : call.comm,
      .grid = call.count("grid"),
      .batch = call.count("batch"),
      .channels = call.count("channels"),
      .samples = call.count("samples"),
      .repeats = call.count("repeats"),
      .reductions = split_list(call.text("reduction", "exact")),
      .with_baseline = !call.has("no-baseline"),
      .reads_samples = call.has("read"),
      .profile = call.text("profile"),
      .field = call.text("field")};
  if (place) {
    options.device = place->device();
    options.device_name = place->name();
    options.device_memory = place->memory();
  }
  return subject.run(options);
}

int bench(Invocation const& call) {
  auto const name = call.text("subject");
  auto const& subject = kSubjects.at(name);
  for (auto const& [flag, value] : call.flags) {
    bool const is_known = flag == "subject" || flag == "json" || flag == "config" ||
                          std::count(subject.flags.begin(), subject.flags.end(), flag) > 0;
    VOXCYCLE_REQUIRE_USAGE(is_known, "--" << flag << " means nothing to bench " << name
                                          << ", which takes --" << join(subject.flags, ", --")
                                          << " and --json.");
  }
  if (call.comm.rank() == 0) require_outputs_of(call, {"json", "profile"});
  auto const result = measure(call, subject);
  if (call.comm.rank() == 0) {
    auto const text = line(result.members) + "\n";
    print("%s", (result.table + text).c_str());
    if (call.has("json")) write_file_atomically(call.flags.at("json"), text);
  }
  call.comm.agree_on_error(result.problem);
  return 0;
}

}  // namespace

Command bench_command() {
  return {
      "bench",
      "medians and ratios within one run, of kernels, steps and files",
      {{"grid", "N",
        "voxels per axis (default: energy, reference 128; io 64; step, loss, conv 32)"},
       {"batch", "N", "step, loss, io: global batch (default: 8); conv: samples (default: 2)"},
       {"channels", "N", "conv: channels (default: 16)"},
       {"reduction", "LIST", "step: exact, fast or exact,fast (side by side)"},
       {"no-baseline", "",
        "step: no step in float32 (on a CPU in torch's default layout) beside it"},
       {"read", "", "step: the training samples, read as in training, instead of random fields"},
       {"profile", "FILE",
        "step: events of one more step for Perfetto; shares of time in the line"},
       {"samples", "N", "io: of the shard (default: 32)"},
       {"field", "NAME", "reference: only fields whose names begin so"},
       {"repeats", "N",
        "all but reference: rounds that medians are of (default: 11; of step no more than fit a "
        "minute)"},
       {"json", "FILE", "where the line goes as well"}},
      bench,
      kSubjects.names()};
}

}  // namespace voxcycle
