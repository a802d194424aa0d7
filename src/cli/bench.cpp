// SPDX-License-Identifier: BSD-3-Clause
// voxcycle bench: medians of repeated runs, and ratios measured side by side in the same run.
#include "cli/bench.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <cstdio>
#include <utility>
#include <vector>

namespace voxcycle {
namespace {

using Bench = int (*)(Invocation const&);

/// One line a bench, in the order of the help.
std::vector<std::pair<std::string, Bench>> const kBenches{
    {"energy", bench_energy}, {"step", bench_step},           {"loss", bench_loss},
    {"conv", bench_conv},     {"reference", bench_reference}, {"io", bench_io},
};

std::vector<std::string> bench_names() {
  std::vector<std::string> names;
  for (auto const& entry : kBenches) names.push_back(entry.first);
  return names;
}

int bench(Invocation const& call) {
  auto const subject = call.has("subject") ? call.flags.at("subject") : std::string();
  for (auto const& [name, run] : kBenches) {
    if (name == subject) return run(call);
  }
  throw Error("bench '" + subject + "' is unknown. Choose one of " + join(bench_names()) + '.');
}

}  // namespace

std::int64_t bench_number(Invocation const& call, std::string const& name, std::int64_t otherwise) {
  if (!call.has(name)) return otherwise;
  auto const value = parse_integer(call.flags.at(name));
  VOXCYCLE_REQUIRE(value > 0, "--" << name << " '" << call.flags.at(name)
                                   << "' is no positive number. Give a whole number from 1.");
  return *value;
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
       {"json", "FILE", "where the line goes as well"}},
      bench,
      bench_names()};
}

}  // namespace voxcycle
