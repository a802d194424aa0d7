// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/study/scale.hpp"

#include "voxcycle/config/memory_check.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/json.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/grid/micro_batches.hpp"
#include "voxcycle/study/runner.hpp"
#include "voxcycle/study/scale_plan.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include <ATen/Parallel.h>

namespace voxcycle {
namespace {

std::vector<std::int64_t> process_counts(ScaleOptions const& options) {
  auto counts = options.processes;
  if (counts.empty()) {
    for (int count = 1; count <= options.cores; count *= 2) counts.push_back(count);
  }
  for (std::size_t k = 1; k < counts.size(); ++k) {
    VOXCYCLE_REQUIRE(counts[k] > counts[k - 1],
                     "--processes: '" << counts[k] << "' is no larger number of processes than the "
                                      << "one before. Give rising numbers from 1, e.g. 1,2,4.");
  }
  return counts;
}

/// Of each process: run.threads, else this machine's cores shared out to the most processes; with a
/// launcher of the user's, who knows the machines, this process's own number.
int threads_of(Config const& config, ScaleOptions const& options, std::int64_t most) {
  if (options.launcher || config.integer("run.threads", 0, 4096) != 0) {
    return at::get_num_threads();
  }
  return static_cast<int>(std::max<std::int64_t>(1, options.cores / most));
}

Json rows_json(std::vector<ScaleRow> const& rows) {
  auto all = Json::array();
  for (auto const& row : rows) {
    all.push_back(Json::object({{"processes", row.run.processes},
                                {"batch", row.run.batch},
                                {"processes_a_sample", row.run.together},
                                {"seconds", row.time.seconds},
                                {"reduction_share", row.time.reduction},
                                {"speedup", row.speedup},
                                {"efficiency", row.efficiency}}));
  }
  return all;
}

/// A table of the result: its title, its name in JSON, and its runs.
struct ScaleTable {
  char const* title;
  char const* name;
  std::vector<ScaleRun> runs;
};

/// @throws Error unless the processes of every run can share out samples of the grid.
std::vector<ScaleTable> tables_of(ScaleOptions const& options, TrainOptions const& training,
                                  Grid3 const& grid, std::int64_t batch) {
  Slabs const& slabs = training.slabs;
  auto processes = process_counts(options);
  if (!options.in_space) {
    int const together = slabs.processes(grid);
    for (auto const count : processes) {
      VOXCYCLE_REQUIRE(count % together == 0,
                       "run.spatial_processes = " << together
                                                  << " needs multiples of it in --processes, not "
                                                  << count << '.');
    }
    return {
        {"strong scaling: the same batch", "strong", strong_scaling(processes, batch, together)},
        {"weak scaling: the same samples per process", "weak",
         weak_scaling(processes, batch, together)}};
  }
  if (options.processes.empty()) {
    std::erase_if(processes, [&](std::int64_t count) {
      return grid.voxels[0] % (2 * count) != 0;  // nobody asked for them
    });
  }
  for (auto const count : processes) {
    auto together = training;
    together.slabs.count = static_cast<int>(count);
    VOXCYCLE_REQUIRE(count == 1 || together.slabs.cut(grid),
                     "--space: grids of " << grid.label()
                                          << " are not shared out (run.spatial_above = "
                                          << slabs.above << "). Give a larger --grid.");
    require_spatial(together, grid, count);
  }
  return {{"space: the same batch, all processes together on each sample", "space",
           space_scaling(processes, batch)}};
}

/// Steps of one size, timed by `voxcycle bench step`.
class TimedSteps {
 public:
  TimedSteps(Config const& config, std::string launcher, int threads, std::int64_t grid)
      : runs_(config, ".scale", std::move(launcher), threads), grid_(grid) {}

  ScaleTime time(ScaleRun const& run) {
    auto const name = format("%ld-processes-batch-%ld", static_cast<long>(run.processes),
                             static_cast<long>(run.batch));
    auto const json = runs_.file(name + ".json");
    runs_.run(
        name + ".log", run.processes,
        {"bench", "step", "--grid", std::to_string(grid_), "--batch", std::to_string(run.batch),
         "--no-baseline", "--run.spatial_processes", std::to_string(run.together), "--json", json});
    std::ifstream file(json);
    auto const step = Json::parse(file);
    require_started(step.at("processes").get<std::int64_t>(), run.processes);
    step.at("device").get_to(device_);
    return {step.at("seconds_median").get<double>(), step.at("reduction_share").get<double>()};
  }

  /// Where the last one was.
  std::string const& device() const { return device_; }

 private:
  ScratchRuns runs_;
  std::int64_t grid_;
  std::string device_;
};

/// The best of some rounds of all runs.
std::map<ScaleRun, ScaleTime> measure(std::vector<ScaleTable> const& tables, std::int64_t rounds,
                                      TimedSteps& steps) {
  std::set<ScaleRun> measured;  // what is in several lists counts once
  for (auto const& table : tables) measured.insert(table.runs.begin(), table.runs.end());
  std::map<ScaleRun, ScaleTime> times;
  for (std::int64_t round = 1; round <= rounds; ++round) {
    for (auto const& run : measured) {
      log_info(format("round %ld of %ld: %s, batch %ld", static_cast<long>(round),
                      static_cast<long>(rounds), process_count_text(run.processes).c_str(),
                      static_cast<long>(run.batch)));
      auto const time = steps.time(run);
      auto const [best, added] = times.emplace(run, time);
      if (time.seconds < best->second.seconds) best->second = time;
    }
  }
  return times;
}

}  // namespace

ScaleReport scale(Config const& config, ScaleOptions const& options) {
  auto const training = train_options(with_global_batches(config, process_counts(options).front()));
  auto const& finest = training.levels.back();
  auto const grid = level_grid(config, options.grid.value_or(finest.grid.level()));
  auto const batch = options.batch.value_or(finest.batch);
  auto const tables = tables_of(options, training, grid, batch);
  auto const& last = tables.front().runs.back();
  auto const launcher = options.launcher.value_or(kLauncher);
  require_room(launcher, last.processes);
  int const threads = threads_of(config, options, last.processes);
  TimedSteps steps(config, launcher, threads, grid.level());
  auto const times = measure(tables, options.rounds, steps);

  std::string text =
      format("training step at %s on %s, %d %s per process, the faster of %ld rounds\n",
             grid.label().c_str(), steps.device().c_str(), threads,
             threads == 1 ? "thread" : "threads", static_cast<long>(options.rounds));
  auto members = Json::object({{"grid", grid.level()},
                               {"device", steps.device()},
                               {"threads", threads},
                               {"rounds", options.rounds}});
  for (auto const& table : tables) {
    auto const rows = scale_rows(table.runs, times);
    text += "\n" + scale_table(table.title, rows);
    members[table.name] = rows_json(rows);
  }
  if (options.in_space) text += "\nsums: without planes of neighbours and gathered levels\n";
  auto const micro_batches = micro_batch_count(batch, training.micro_batch_size);
  if (micro_batches < last.processes / last.together) {
    text += format(
        "\na batch of %ld has %ld micro-batches of %ld samples (train.micro_batch_size): more "
        "processes "
        "than micro-batches have nothing to do\n",
        static_cast<long>(batch), static_cast<long>(micro_batches),
        static_cast<long>(training.micro_batch_size));
  }
  return {text, document(members)};
}

}  // namespace voxcycle
