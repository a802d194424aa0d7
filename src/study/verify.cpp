// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/study/verify.hpp"

#include "voxcycle/config/memory_check.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/json.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/study/runner.hpp"
#include "voxcycle/train/agreement.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include <ATen/Parallel.h>

namespace voxcycle {
namespace {

/// One step of one run: its place ("stage.step"), loss, and hashes of loss, weights and running
/// statistics.
struct StepRecord {
  std::string place;
  double value = 0.0;  ///< of the loss
  std::string loss, weights, statistics;

  bool same_bits(StepRecord const& other) const {
    return place == other.place && loss == other.loss && weights == other.weights &&
           statistics == other.statistics;
  }
};

std::vector<StepRecord> read_records(std::string const& path) {
  std::istringstream in(read_file(path));
  std::vector<StepRecord> records;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    StepRecord record;
    std::string value;
    words >> record.place >> value >> record.weights >> record.statistics;
    record.value = std::strtod(value.c_str(), nullptr);
    record.loss = text_hash(value);
    records.push_back(record);
  }
  return records;
}

Config short_training(Config config, std::string const& steps) {
  config.set("cycle.steps", steps);
  for (auto const* limit : {"cycle.epochs", "cycle.seconds", "cycle.patience"}) {
    config.set(limit, "0");
  }
  config.set("cycle.evaluations", "1");
  return config;
}

/// The short trainings, each of them child processes.
class VerifyRuns {
 public:
  /// @param parts  of samples that processes share out; 0: they do not
  VerifyRuns(Config const& config, VerifyOptions const& options, int parts)
      : runs_(short_training(config, options.steps), ".verify", options.launcher,
              at::get_num_threads()),
        parts_(parts) {}

  /// One training on `processes`. @throws Error naming its log if it fails.
  std::vector<StepRecord> run(std::int64_t processes, std::string const& reduction) const {
    auto const directory =
        runs_.file(format("%s-%ld", reduction.c_str(), static_cast<long>(processes)));
    return session(reduction + "-reduction", processes,
                   {"--train.reduction", reduction, "--run.directory", directory, "--fresh"});
  }

  /// The training stopped and gone on with, on processes[0], processes[1], ... in turn.
  std::vector<StepRecord> run_in_parts(std::vector<std::int64_t> const& processes,
                                       std::int64_t steps) const {
    std::vector<StepRecord> records;
    auto const parts = static_cast<std::int64_t>(processes.size());
    for (std::int64_t k = 0; k < parts; ++k) {
      std::vector<std::string> more{"--train.reduction", "exact", "--run.directory",
                                    runs_.file("parted")};
      if (k + 1 < parts) {
        more.insert(more.end(),
                    {"--stop-after", std::to_string(std::max<std::int64_t>(1, steps / parts))});
      }
      auto const part =
          session("part-" + std::to_string(k + 1), processes[static_cast<std::size_t>(k)], more);
      records.insert(records.end(), part.begin(), part.end());
    }
    return records;
  }

 private:
  std::vector<StepRecord> session(std::string const& name, std::int64_t processes,
                                  std::vector<std::string> const& more) const {
    auto const file = format("%s-on-%ld", name.c_str(), static_cast<long>(processes));
    auto const records = runs_.file(file + ".txt");
    std::vector<std::string> arguments{"verify", "--worker", records, "--processes",
                                       std::to_string(processes)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    if (parts_ > 0) {
      arguments.insert(arguments.end(), {"--run.spatial_processes", std::to_string(processes),
                                         "--run.spatial_parts", std::to_string(parts_)});
    }
    log_info(name + " on " + process_count_text(processes));
    runs_.run(file + ".log", processes, arguments);
    return read_records(records);
  }

  ScratchRuns runs_;
  int parts_;
};

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

/// The same for all numbers of processes.
int parts_in_space(Config const& config, VerifyOptions const& options) {
  int const given = slabs_of(config).parts;
  auto const most = *std::max_element(options.ranks.begin(), options.ranks.end());
  return given > 0 ? given : static_cast<int>(most);
}

/// Here, not in the log of a child.
void require_verifiable(Config const& config, VerifyOptions const& o) {
  auto const options = train_options(config);
  VOXCYCLE_REQUIRE(options.rate_scaling == RateScaling::none,
                   "train.rate_scaling = " << config.text("train.rate_scaling")
                                           << " lets the rate follow the number of processes, so "
                                              "that no two have the same bits. Set it to none.");
  VOXCYCLE_REQUIRE(config.text("cycle.batch_is") == "global",
                   "cycle.batch_is = " << config.text("cycle.batch_is")
                                       << " lets the batch follow the number of processes, so that "
                                          "no two have the same bits. Set it to global.");
  auto training = options;
  if (o.in_space) training.slabs.parts = parts_in_space(config, o);
  Grid3 const& finest = options.levels.back().grid;
  VOXCYCLE_REQUIRE(!o.in_space || training.slabs.cut(finest),
                   "--space: grids of " << finest.label()
                                        << " are not shared out (run.spatial_above = "
                                        << training.slabs.above << "). Lower run.spatial_above.");
  for (auto const count : o.ranks) {
    require_room(o.launcher, count);
    if (o.in_space) training.slabs.count = static_cast<int>(count);
    for (auto const& level : options.levels) require_spatial(training, level.grid, count);
  }
  for (auto const& part : split_list(o.steps)) {
    VOXCYCLE_REQUIRE(parse_number<std::int64_t>(part) > 0,
                     "--steps: '" << part << "' is no number of steps. Give one from 1, e.g. 5.");
  }
}

}  // namespace

void verify_worker(TrainOptions options, Communicator const& comm, std::string const& file) {
  std::string lines;
  options.after_step = [&](StepView const& view) {
    lines += format("%d.%ld %a %s %s\n", view.stage + 1, static_cast<long>(view.step), view.loss,
                    tensors_hash(view.network.parameters()).c_str(),
                    tensors_hash(view.network.buffers()).c_str());
  };
  train(options, comm);
  if (comm.rank() == 0) write_file_atomically(file, lines);
}

VerifyReport verify(Config const& config, VerifyOptions const& options) {
  require_verifiable(config, options);
  auto const& ranks = options.ranks;
  VerifyRuns const trainings(config, options,
                             options.in_space ? parts_in_space(config, options) : 0);
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
  report.json = document({{"identical", report.identical},
                          {"ranks", ranks},
                          {"stopped_and_resumed", parts},
                          {"steps", steps},
                          {"first_difference", report.identical ? Json() : Json(first_difference)},
                          {"fast_drift_ulps", drift}});
  return report;
}

}  // namespace voxcycle
