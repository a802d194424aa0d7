// SPDX-License-Identifier: BSD-3-Clause
// voxcycle scale: a training step over numbers of processes: strong, weak, and in space.
#include "voxcycle/cli/command.hpp"
#include "voxcycle/comm/threads.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/json.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/grid/micro_batches.hpp"
#include "voxcycle/study/child_process.hpp"
#include "voxcycle/study/scale_plan.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

#include "cli/bench.hpp"
#include "cli/memory_check.hpp"
#include "cli/output_files.hpp"
#include <ATen/Parallel.h>
#include <boost/property_tree/json_parser.hpp>
#include <boost/property_tree/ptree.hpp>

namespace voxcycle {
namespace {

/// --processes, or 1, 2, 4, ... up to the cores.
std::vector<std::int64_t> processes_of(Invocation const& call) {
  std::vector<std::int64_t> counts;
  if (!call.has("processes")) {
    for (int count = 1; count <= cores(); count *= 2) counts.push_back(count);
    return counts;
  }
  counts = parse_process_counts("--processes", call.flags.at("processes"));
  for (std::size_t k = 1; k < counts.size(); ++k) {
    VOXCYCLE_REQUIRE(counts[k] > counts[k - 1],
                     "--processes: '" << counts[k] << "' is no larger number of processes than the "
                                      << "one before. Give rising numbers from 1, e.g. 1,2,4.");
  }
  return counts;
}

/// The runs of this call as child processes, each of the same number of threads: run.threads, else
/// this machine's cores shared out to the most processes; with a launcher of the user's, who knows
/// the machines, this process's own number.
class ScaleRuns {
 public:
  ScaleRuns(Invocation const& call, std::int64_t grid, std::int64_t maximum)
      : grid_(grid), scratch_(call.config.text("run.directory") + "/.scale") {
    threads_ = at::get_num_threads();
    if (call.has("launcher")) {
      launcher_ = call.flags.at("launcher");
    } else if (call.config.integer("run.threads", 0, 4096) == 0) {
      threads_ = static_cast<int>(std::max<std::int64_t>(1, cores() / maximum));
    }
    require_room(launcher_, maximum);
    std::filesystem::remove_all(scratch_);
    write_file_atomically(scratch_ + "/config.cfg", call.config.dump());
  }

  int threads() const { return threads_; }
  std::string const& device() const { return device_; }

  /// @throws Error with the end of its output if a run fails.
  ScaleTime time(ScaleRun const& run) {
    auto const stem = format("%s/%ld-processes-batch-%ld", scratch_.c_str(),
                             static_cast<long>(run.processes), static_cast<long>(run.batch));
    auto const command =
        own_command(launcher_, run.processes, threads_,
                    {"bench", "step", "--config", scratch_ + "/config.cfg", "--grid",
                     std::to_string(grid_), "--batch", std::to_string(run.batch), "--no-baseline",
                     "--run.space", std::to_string(run.together), "--run.threads",
                     std::to_string(threads_), "--json", stem + ".json"});
    int const status = ChildProcess(command, stem + ".log").wait();
    VOXCYCLE_REQUIRE(status == 0, "the step on " << run.processes << " processes failed. If the "
                                                 << "launcher is not mpirun, give it with "
                                                 << "--launcher 'srun -n {}'. The end of " << stem
                                                 << ".log:\n"
                                                 << last_lines(stem + ".log"));
    boost::property_tree::ptree line;
    boost::property_tree::read_json(stem + ".json", line);
    require_started(line.get<std::int64_t>("processes"), run.processes);
    device_ = line.get<std::string>("device");
    return {line.get<double>("seconds_median"), line.get<double>("reduction_share")};
  }

 private:
  std::int64_t grid_;
  std::string scratch_;
  std::string launcher_ = kLauncher;
  int threads_ = 1;
  std::string device_;
};

std::string rows_json(std::vector<ScaleRow> const& rows) {
  std::vector<std::string> all;
  for (auto const& row : rows) {
    all.push_back(json::object({{"processes", std::to_string(row.run.processes)},
                                {"batch", std::to_string(row.run.batch)},
                                {"processes_a_sample", std::to_string(row.run.together)},
                                {"seconds", json::number(row.time.seconds)},
                                {"reduction_share", json::number(row.time.reduction)},
                                {"speedup", json::number(row.speedup)},
                                {"efficiency", json::number(row.efficiency)}}));
  }
  return json::array(all);
}

/// A table of the result: its title, its name in JSON, and its runs.
struct ScaleTable {
  char const* title;
  char const* name;
  std::vector<ScaleRun> runs;
};

/// @throws Error unless the processes of every run can share out samples of the grid.
std::vector<ScaleTable> tables_of(Invocation const& call, TrainOptions const& options,
                                  Grid3 const& grid, std::int64_t batch) {
  Slabs const& slabs = options.slabs;
  auto processes = processes_of(call);
  if (!call.has("space")) {
    int const together = slabs.processes(grid);
    for (auto const count : processes) {
      VOXCYCLE_REQUIRE(count % together == 0,
                       "run.space = " << together << " needs multiples of it in --processes, not "
                                      << count << '.');
    }
    return {
        {"strong scaling: the same batch", "strong", strong_scaling(processes, batch, together)},
        {"weak scaling: the same samples a process", "weak",
         weak_scaling(processes, batch, together)}};
  }
  if (!call.has("processes")) {
    std::erase_if(processes, [&](std::int64_t count) {
      return grid.voxels[0] % (2 * count) != 0;  // nobody asked for them
    });
  }
  for (auto const count : processes) {
    auto together = options;
    together.slabs.count = static_cast<int>(count);
    VOXCYCLE_REQUIRE(count == 1 || together.slabs.cut(grid),
                     "--space: grids of "
                         << grid.label() << " are not shared out (run.space_above = " << slabs.above
                         << "). Give a larger --grid.");
    require_spatial(together, grid, count);
  }
  return {{"space: the same batch, all processes together on each sample", "space",
           space_scaling(processes, batch)}};
}

int scale(Invocation const& call) {
  VOXCYCLE_REQUIRE(call.comm.size() == 1,
                   "scale starts its processes itself. Call it without mpirun.");
  require_outputs_of(call, {"json"});
  auto const options = train_options(call.config);
  auto const& finest = options.levels.back();
  auto const grid = level_grid(call.config, bench_number(call, "grid", finest.grid.level()));
  auto const batch = bench_number(call, "batch", finest.batch);
  auto const rounds = bench_number(call, "rounds", 2);
  auto const tables = tables_of(call, options, grid, batch);
  auto const maximum = tables.front().runs.back().processes;
  ScaleRuns runs(call, grid.level(), maximum);

  std::set<ScaleRun> measured;  // what is in several lists counts once
  for (auto const& table : tables) measured.insert(table.runs.begin(), table.runs.end());
  std::map<ScaleRun, ScaleTime> times;
  for (std::int64_t round = 1; round <= rounds; ++round) {
    for (auto const& run : measured) {
      log_info(format("round %ld of %ld: %ld %s, batch %ld", static_cast<long>(round),
                      static_cast<long>(rounds), static_cast<long>(run.processes),
                      run.processes == 1 ? "process" : "processes", static_cast<long>(run.batch)));
      auto const time = runs.time(run);
      auto const [best, added] = times.emplace(run, time);
      if (time.seconds < best->second.seconds) best->second = time;
    }
  }
  std::printf("training step at %s on %s, %d %s a process, the faster of %ld rounds\n",
              grid.label().c_str(), runs.device().c_str(), runs.threads(),
              runs.threads() == 1 ? "thread" : "threads", static_cast<long>(rounds));
  json::Members members{{"grid", std::to_string(grid.level())},
                        {"device", json::text(runs.device())},
                        {"threads", std::to_string(runs.threads())},
                        {"rounds", std::to_string(rounds)}};
  for (auto const& table : tables) {
    auto const rows = scale_rows(table.runs, times);
    std::printf("\n%s", scale_table(table.title, rows).c_str());
    members.emplace_back(table.name, rows_json(rows));
  }
  if (call.has("space")) std::printf("\nsums: without planes of neighbours and gathered levels\n");
  auto const micro_batches = micro_batch_count(batch, options.micro_batch_size);
  auto const& last = tables.front().runs.back();
  if (micro_batches < last.processes / last.together) {
    std::printf(
        "\na batch of %ld has %ld units of %ld samples (train.unit_size): more processes "
        "than units have nothing to do\n",
        static_cast<long>(batch), static_cast<long>(micro_batches),
        static_cast<long>(options.micro_batch_size));
  }
  if (call.has("json")) {
    write_file_atomically(call.flags.at("json"), json::document(members));
  }
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
        "(run.space)"},
       {"launcher", "TEXT", "how to start {} processes (default: mpirun -n {} ...; '': none)",
        Empty::allowed},
       {"json", "FILE", "where the figures go"}},
      scale};
}

}  // namespace voxcycle
