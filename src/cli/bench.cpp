// SPDX-License-Identifier: BSD-3-Clause
// voxcycle bench: medians of repeated runs, and ratios measured side by side in the same run.
#include "cli/bench.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/registry.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "cli/output_files.hpp"

namespace voxcycle {
namespace {

using Bench = int (*)(Invocation const&);

struct Subject {
  Bench run;
  std::vector<std::string> flags;  ///< besides --json
};

/// One line a subject, in the order of the help.
Registry<Subject> const kSubjects{
    "bench",
    {
        {"energy", {bench_energy, {"grid", "repeats"}}},
        {"step", {bench_step, {"grid", "batch", "reduction", "no-baseline", "profile", "repeats"}}},
        {"loss", {bench_loss, {"grid", "batch", "repeats"}}},
        {"conv", {bench_conv, {"grid", "batch", "channels", "repeats"}}},
        {"reference", {bench_reference, {"grid", "field"}}},
        {"io", {bench_io, {"grid", "batch", "samples", "repeats"}}},
    }};

std::vector<std::string> bench_names() {
  return kSubjects.names();
}

int bench(Invocation const& call) {
  auto const name = call.has("subject") ? call.flags.at("subject") : std::string();
  auto const& subject = kSubjects.at(name);
  for (auto const& [flag, value] : call.flags) {
    bool const is_known = flag == "subject" || flag == "json" || flag == "config" ||
                          std::count(subject.flags.begin(), subject.flags.end(), flag) > 0;
    VOXCYCLE_REQUIRE(is_known, "--" << flag << " means nothing to bench " << name
                                    << ", which takes --" << join(subject.flags, ", --")
                                    << " and --json.");
  }
  if (call.comm.rank() == 0) require_outputs_of(call, {"json", "profile"});
  return subject.run(call);
}

}  // namespace

std::int64_t bench_number(Invocation const& call, std::string const& name, std::int64_t otherwise) {
  if (!call.has(name)) return otherwise;
  auto const value = parse_number<std::int64_t>(call.flags.at(name));
  VOXCYCLE_REQUIRE(value > 0, "--" << name << " '" << call.flags.at(name)
                                   << "' is no positive number. Give a whole number from 1.");
  return *value;
}

std::int64_t bench_repeats(Invocation const& call) {
  return bench_number(call, "repeats", 11);
}

int bench_report(Invocation const& call, json::Members const& members) {
  if (call.comm.rank() != 0) return 0;
  auto const line = json::object(members) + "\n";
  std::fputs(line.c_str(), stdout);
  if (call.has("json")) write_file_atomically(call.flags.at("json"), line);
  return 0;
}

Command bench_command() {
  return {
      "bench",
      "medians and ratios within one run (see train.precision, run.device)",
      {{"grid", "N", "voxels an axis (default: energy, reference 128; io 64; step, loss, conv 32)"},
       {"batch", "N", "step, loss, io: global batch (default: 8); conv: samples (default: 2)"},
       {"channels", "N", "conv: channels (default: 16)"},
       {"reduction", "LIST", "step: exact, fast or exact,fast (side by side)"},
       {"no-baseline", "",
        "step: no step in float32 (on a CPU in torch's default layout) beside it"},
       {"profile", "FILE",
        "step: events of one more step for Perfetto; shares of time in the line"},
       {"samples", "N", "io: of the shard (default: 32)"},
       {"field", "NAME", "reference: only fields whose names begin so"},
       {"repeats", "N",
        "all but reference: rounds that medians are of (default: 11; of step no more than fit a "
        "minute)"},
       {"json", "FILE", "where the line goes as well"}},
      bench,
      bench_names()};
}

}  // namespace voxcycle
