// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/study/verify.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/json.hpp"
#include "voxcycle/core/text.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "cli/memory_check.hpp"
#include "study/verify_runs.hpp"

namespace voxcycle {
namespace {

/// One column of the comparison.
struct ComparedRun {
  std::string name;  ///< e.g. "3 processes"
  std::vector<StepRecord> steps;
};

/// Distance of two float64 in units in the last place.
double ulps_apart(double a, double b) {
  return std::abs(static_cast<double>(std::bit_cast<std::int64_t>(a)) -
                  static_cast<double>(std::bit_cast<std::int64_t>(b)));
}

/// Adds a line for each step of the first run to the text.
/// @return the first difference, "" if there is none
std::string compare(std::vector<ComparedRun> const& runs, std::string& text) {
  std::string first;
  auto const& expected = runs.front().steps;
  auto const add_line = [&](StepRecord const& record, std::string const& equal) {
    text += format("%-8s %-18s %-18s %-18s %s\n", record.place.c_str(), record.loss.c_str(),
                   record.weights.c_str(), record.statistics.c_str(), equal.c_str());
  };
  add_line({"step", 0.0, "loss", "weights", "statistics"}, "runs");
  for (std::size_t step = 0; step < expected.size(); ++step) {
    auto const& record = expected[step];
    std::vector<std::string> differing;
    for (auto const& run : runs) {
      bool const same = step < run.steps.size() && run.steps[step].same_bits(record);
      if (!same) differing.push_back(run.name);
    }
    add_line(record, differing.empty() ? "all equal" : "DIFFERENT: " + join(differing));
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

/// Here, not in the log of a child.
void require_verifiable(Config const& config, VerifyOptions const& o) {
  auto const options = train_options(config);
  VOXCYCLE_REQUIRE(options.rate_scaling == RateScaling::none,
                   "train.rate_scaling = " << config.text("train.rate_scaling")
                                           << " lets the rate follow the number of processes, so "
                                              "that no two have the same bits. Set it to none.");
  for (auto const count : o.ranks) {
    require_room(o.launcher, count);
    for (auto const& level : options.levels) require_spatial(options, level.grid, count);
  }
  for (auto const& part : split_list(o.steps)) {
    VOXCYCLE_REQUIRE(parse_number<std::int64_t>(part) > 0,
                     "--steps: '" << part << "' is no number of steps. Give one from 1, e.g. 5.");
  }
}

}  // namespace

VerifyReport verify(Config const& config, VerifyOptions const& options) {
  require_verifiable(config, options);
  auto const& ranks = options.ranks;
  VerifyRuns const trainings(config, options);
  std::vector<ComparedRun> runs;
  for (auto const count : ranks) {
    runs.push_back({process_count_text(count), trainings.run(count, "exact")});
  }
  auto const exact = runs.front().steps;
  auto const steps = static_cast<std::int64_t>(exact.size());
  // e.g. 1,2,3,4,5: stopped on 1, gone on with on 5, then on 2 processes.
  std::vector<std::int64_t> const parts{ranks.front(), ranks.back(),
                                        ranks[std::min<std::size_t>(1, ranks.size() - 1)]};
  runs.push_back({format("%ld, then %ld, then %ld processes", static_cast<long>(parts[0]),
                         static_cast<long>(parts[1]), static_cast<long>(parts[2])),
                  trainings.run_in_parts(parts, steps)});
  double drift = 0.0;
  for (auto const count : ranks) {
    auto const fast = trainings.run(count, "fast");
    for (std::size_t step = 0; step < std::min(fast.size(), exact.size()); ++step) {
      drift = std::max(drift, ulps_apart(fast[step].value, exact[step].value));
    }
  }
  VerifyReport report;
  auto const first_difference = compare(runs, report.text);
  report.identical = first_difference.empty();
  std::vector<std::string> names;
  for (auto const& run : runs) names.push_back(run.name);
  report.text +=
      "compared: " + join(names, "; ") + "\n" +
      (report.identical ? "identical: every step has the same bits on every number of processes"
                        : "NOT identical, first difference: " + first_difference) +
      format("\nfast mode drifts by at most %.0f ulps of the loss (%.1e relative)\n", drift,
             drift * 0x1.0p-52);
  report.json = json::document(
      {{"identical", json::boolean(report.identical)},
       {"ranks", json::array(ranks)},
       {"stopped_and_resumed", json::array(parts)},
       {"steps", std::to_string(steps)},
       {"first_difference", report.identical ? "null" : json::text(first_difference)},
       {"fast_drift_ulps", json::number(drift)}});
  return report;
}

}  // namespace voxcycle
