// SPDX-License-Identifier: BSD-3-Clause
// voxcycle verify: the same short training on several numbers of processes, and stopped and gone on
// with on changing numbers, compared bit by bit.
#include "voxcycle/cli/command.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/json.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/study/child_process.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "cli/memory_check.hpp"
#include "cli/output_files.hpp"
#include "cli/verify_runs.hpp"

namespace voxcycle {
namespace {

/// One column of the comparison.
struct Run {
  std::string name;  ///< e.g. "3 processes"
  std::vector<StepRecord> steps;
};

/// Distance of two float64 in units in the last place.
double ulps_apart(double a, double b) {
  return std::abs(static_cast<double>(std::bit_cast<std::int64_t>(a)) -
                  static_cast<double>(std::bit_cast<std::int64_t>(b)));
}

/// Prints a line for each step of the first run. @return the first difference, "" if there is none
std::string compare(std::vector<Run> const& runs) {
  std::string first;
  auto const& expected = runs.front().steps;
  std::printf("%-8s %-18s %-18s %-18s %s\n", "step", "loss", "weights", "statistics", "runs");
  for (std::size_t step = 0; step < expected.size(); ++step) {
    auto const& record = expected[step];
    std::vector<std::string> differing;
    for (auto const& run : runs) {
      bool const same = step < run.steps.size() && run.steps[step].same_bits(record);
      if (!same) differing.push_back(run.name);
    }
    std::printf("%-8s %-18s %-18s %-18s %s\n", record.place.c_str(), record.loss.c_str(),
                record.weights.c_str(), record.statistics.c_str(),
                differing.empty() ? "all equal" : ("DIFFERENT: " + join(differing)).c_str());
    if (first.empty() && !differing.empty()) {
      first = "step " + record.place + " of the run on " + join(differing);
    }
  }
  for (auto const& run : runs) {
    if (first.empty() && run.steps.size() != expected.size()) {
      first = format("the run on %s took %zu steps, not %zu", run.name.c_str(), run.steps.size(),
                     expected.size());
    }
  }
  return first;
}

int verify(Invocation const& call) {
  if (call.has("worker")) return run_verify_worker(call);
  VOXCYCLE_REQUIRE(call.comm.size() == 1,
                   "verify starts its processes itself. Call it without mpirun.");
  for (char const* own : {"processes", "fresh", "stop-after"}) {  // of its workers
    VOXCYCLE_REQUIRE(!call.has(own),
                     "unknown option --"
                         << own
                         << " of verify. Numbers of processes are those of --ranks, "
                            "e.g. --ranks 1,2,3.");
  }
  require_outputs_of(call, {"json"});
  auto const ranks =
      parse_process_counts("--ranks", call.has("ranks") ? call.flags.at("ranks") : "1,2,3");
  auto const options = train_options(call.config);
  VOXCYCLE_REQUIRE(options.rate_scaling == RateScaling::none,
                   "train.rate_scaling = " << call.config.text("train.rate_scaling")
                                           << " lets the rate follow the number of processes, so "
                                              "that no two have the same bits. Set it to none.");
  for (auto const count : ranks) {  // here, not in the log of a child
    require_room(call.has("launcher") ? call.flags.at("launcher") : kLauncher, count);
    for (auto const& level : options.levels) require_spatial(options, level.grid, count);
  }
  VerifyRuns const trainings(call);
  std::vector<Run> runs;
  for (auto count : ranks) {
    runs.push_back(
        {format("%ld %s", static_cast<long>(count), count == 1 ? "process" : "processes"),
         trainings.run(count, "exact")});
  }
  auto const steps = static_cast<std::int64_t>(runs.front().steps.size());
  // e.g. 1,2,3,4,5: stopped on 1, gone on with on 5, then on 2 processes.
  std::vector<std::int64_t> const parts{ranks.front(), ranks.back(),
                                        ranks[std::min<std::size_t>(1, ranks.size() - 1)]};
  runs.push_back({format("%ld, then %ld, then %ld processes", static_cast<long>(parts[0]),
                         static_cast<long>(parts[1]), static_cast<long>(parts[2])),
                  trainings.run_in_parts(parts, steps)});
  auto const& expected = runs.front().steps;
  double drift = 0.0;
  for (auto count : ranks) {
    auto const fast = trainings.run(count, "fast");
    for (std::size_t step = 0; step < std::min(fast.size(), expected.size()); ++step) {
      drift = std::max(drift, ulps_apart(fast[step].value, expected[step].value));
    }
  }
  auto const first_difference = compare(runs);
  bool const identical = first_difference.empty();
  std::printf("compared: %s\n",
              [&] {
                std::vector<std::string> names;
                for (auto const& run : runs) names.push_back(run.name);
                return join(names, "; ");
              }()
                  .c_str());
  std::printf("%s\nfast mode drifts by at most %.0f ulps of the loss (%.1e relative)\n",
              identical ? "identical: every step has the same bits on every number of processes"
                        : ("NOT identical, first difference: " + first_difference).c_str(),
              drift, drift * 0x1.0p-52);
  if (call.has("json")) {
    write_file_atomically(
        call.flags.at("json"),
        json::document({{"identical", json::boolean(identical)},
                        {"ranks", json::array(ranks)},
                        {"stopped_and_resumed", json::array(parts)},
                        {"steps", std::to_string(expected.size())},
                        {"first_difference", identical ? "null" : json::text(first_difference)},
                        {"fast_drift_ulps", json::number(drift)}}));
  }
  return identical ? 0 : 1;
}

}  // namespace

Command verify_command() {
  return {"verify",
          "that a training has the same bits on any number of processes",
          {{"ranks", "LIST", "numbers of processes to compare (default: 1,2,3)"},
           {"steps", "N", "steps a visit (default: 5)"},
           {"launcher", "TEXT", "how to start {} processes (default: mpirun -n {} ...; '': none)",
            Empty::allowed},
           {"json", "FILE", "where the result goes: identical, ranks, steps, first_difference"},
           {"worker", "FILE", ""},
           {"processes", "N", ""},
           {"fresh", "", ""},
           {"stop-after", "N", ""}},
          verify};
}

}  // namespace voxcycle
