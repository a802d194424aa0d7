// SPDX-License-Identifier: BSD-3-Clause
#include "cli/train_run.hpp"

#include "voxcycle/cli/error_words.hpp"
#include "voxcycle/config/memory_check.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/directory_lock.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/printable.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/evaluate/gain.hpp"
#include "voxcycle/grid/micro_batches.hpp"
#include "voxcycle/io/event_file.hpp"
#include "voxcycle/train/run_directory.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <regex>

#include "cli/dry_run.hpp"
#include "cli/train_summary.hpp"
#include <ATen/Parallel.h>

namespace voxcycle {
namespace {

/// Takes the directory and opens the logs, before anything of an earlier run goes.
/// @return on rank 0: the directory is this run's alone
std::unique_ptr<DirectoryLock> prepare_directory(Training const& training,
                                                 Communicator const& comm) {
  auto const& [config, options, log, memory] = training;
  std::unique_ptr<DirectoryLock> lock;
  if (comm.rank() == 0) {
    auto const take = [&] {
      if (!lock) lock = std::make_unique<DirectoryLock>(options.directory, "run.directory");
    };
    if (resumes(options)) {
      take();
      use_sound_checkpoint(options.directory);
    }
    // Of all stages, before the first step: else a job ends hours later for a missing file.
    if (!holds_finished_run(options)) {
      require_training_shards(dataset_options(config), grids_of(options));
    }
    take();
  }
  comm.barrier();
  comm.together([&] { log_to_file(log); });
  if (comm.rank() == 0) {
    for (auto const& directory :
         {options.directory,
          std::filesystem::path(stage_path(options.directory, 0)).parent_path().string()}) {
      remove_leftovers(directory);
    }
    if (options.restart == Restart::fresh) forget_run(options.directory);
    if (!resumes(options)) {  // else the trainer refuses to go on with another config
      remove_event_files(options.directory);
      write_file_atomically(options.directory + "/config.cfg", config.dump());
      std::filesystem::remove(options.directory + "/DONE");
    }
  }
  comm.barrier();
  return lock;
}

/// Held-out figures at the end of each stage, and the energy norm on entering it.
std::string stage_table(std::vector<MetricRow> const& rows) {
  std::string text = format("%-6s %-7s %8s %10s %14s %14s %14s %14s\n", "stage", "grid", "steps",
                            "seconds", "relative L2", "energy gap", "energy norm", "on entering");
  double entered = 0.0;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    bool const evaluated = !std::isnan(rows[k].rel_l2_mean);
    if (evaluated && rows[k].step == 0) entered = rows[k].energy_norm_error_mean;
    bool const last = k + 1 == rows.size() || rows[k + 1].stage != rows[k].stage;
    if (!evaluated || !last) continue;
    text += format("%-6d %-7s %8ld %10.1f %14s %14s %14s %14s\n", rows[k].stage + 1,
                   rows[k].grid.c_str(), static_cast<long>(rows[k].step), rows[k].seconds,
                   format_percent(rows[k].rel_l2_mean).c_str(),
                   format_percent(rows[k].energy_gap_mean).c_str(),
                   format_percent(rows[k].energy_norm_error_mean).c_str(),
                   format_percent(entered).c_str());
  }
  return text;
}

std::string time_table(TrainSummary const& summary) {
  double const total =
      std::max(summary.times.total() + summary.evaluation + summary.checkpoint, 1e-9);
  std::string text = "time:";
  auto const part = [&](char const* name, double seconds) {
    text += format("  %s %.0f %%", name, 100 * seconds / total);
  };
  for (auto const& [name, seconds] : summary.times.named())
    if (seconds > 0.0) part(name, seconds);
  part("evaluation", summary.evaluation);
  part("checkpoint", summary.checkpoint);
  return text + "\n";
}

/// Which process computes on which GPU, a line each.
void show_gpus(DeviceChoice const& place, Communicator const& comm) {
  if (place.device().is_cpu()) return;
  auto const names = comm.all_gather_text(place.name());
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    if (comm.rank() == 0) log_info(format("process %zu: %s", rank, names[rank].c_str()));
  }
}

/// The config with batches that do not depend on the processes any more. Says which these are: what
/// is said later speaks of them.
Config with_batches_of(Communicator const& comm, Config const& asked) {
  Config config = with_global_batches(asked, comm.size());
  if (comm.rank() == 0 && asked.text("cycle.batch_is") != "global") {
    log_info(format("cycle.batch_is = %s on %s: the global batch is cycle.batch = %s",
                    asked.text("cycle.batch_is").c_str(),
                    counted(comm.size(), "process", "processes").c_str(),
                    config.text("cycle.batch").c_str()));
  }
  return config;
}

/// Voxels up to which a GPU works on a micro-batch faster than the host asks for it.
constexpr std::int64_t many_for_gpu = std::int64_t{128} * 128 * 128;

void warn(std::vector<std::string> const& warnings) {
  for (auto const& text : warnings) log_warning(text);
}

/// What levels have of their own: no block, processes that share samples out.
void show_levels(TrainOptions const& options, Communicator const& comm) {
  for (auto const& plan : options.levels) {
    int const together = options.slabs.processes(plan.grid);
    int const groups = comm.size() / together;
    std::vector<std::string> parts;
    if (!has_block(options.network, plan.grid.level())) {
      parts.emplace_back("smoothing steps alone (not in network.channels)");
    }
    if (together > 1)
      parts.push_back(format("%d processes per sample, in slabs along x", together));
    std::int64_t const turns = micro_batches_in_turn(plan.batch, options.micro_batch_size, groups);
    std::int64_t const micro_batch =
        std::min(plan.batch, options.micro_batch_size) * plan.grid.voxel_count();
    if (options.device.is_cuda() && turns > 1 && micro_batch <= many_for_gpu) {
      parts.push_back(
          format("%ld micro-batches one after the other (on a GPU faster in one: "
                 "train.micro_batch_size = %ld)",
                 static_cast<long>(turns), static_cast<long>((plan.batch + groups - 1) / groups)));
    }
    if (options.rate_scaling != RateScaling::none) {
      parts.push_back(format("rates %.3g times cycle.rate (train.rate_scaling)",
                             rate_scale(options.rate_scaling, groups)));
    }
    if (!parts.empty()) log_info(plan.grid.label() + ": " + join(parts));
  }
}

/// Trains; says what was planned if a GPU's memory ends nevertheless.
TrainSummary train_within(std::vector<MemoryPlan> const& plans, TrainOptions const& options,
                          Communicator const& comm) {
  try {
    return train(options, comm);
  } catch (c10::Error const& error) {
    auto const memory = gpu_memory_after(error);
    if (memory == GpuMemory::fine) throw;
    std::int64_t maximum = 0;
    for (auto const& plan : plans) maximum = std::max(maximum, plan.bytes);
    throw Error(std::string("the GPU ") +
                (memory == GpuMemory::ended
                     ? "is out of memory"
                     : "may be out of memory, or cuDNN has no reproducible engine (then try "
                       "train.reduction = fast)") +
                ", though the plan was " + format_bytes(static_cast<double>(maximum)) +
                " at most (other programs may hold the rest; see nvidia-smi). Set train.recompute "
                "= yes, or lower cycle.batch. torch says: " +
                error.what_without_backtrace());
  }
}

void tell(TrainSummary const& summary, std::string const& directory, std::string const& resources) {
  print("\n%s%s%s", stage_table(summary.rows).c_str(), time_table(summary).c_str(),
        waiting_text(summary.waiting).c_str());
  if (!summary.finished) return;
  auto const done = directory + "/DONE";
  if (!std::filesystem::exists(done)) write_file_atomically(done, resources + "\n");
  print(
      "trained %s in all, %s with this session's evaluations and checkpoints; run directory "
      "%s\n",
      format_seconds(summary.seconds).c_str(),
      format_seconds(summary.seconds + summary.evaluation + summary.checkpoint).c_str(),
      directory.c_str());
  std::fflush(stdout);
}

/// What a finished run was worth at its finest grid.
void tell_gain(TrainOptions const& options, TrainSummary const& summary) {
  if (std::isnan(summary.untrained_error)) return;
  Grid3 const grid = grids_of(options).back();
  double after = 0.0;
  for (auto const& row : summary.rows) {
    bool const evaluated = row.grid == grid.label() && !std::isnan(row.rel_l2_mean);
    if (evaluated) after = row.energy_norm_error_mean;
  }
  auto const gain = gain_of(grid.label(), summary.untrained_error, after);
  gain.gained ? log_info(gain.text) : log_warning(gain.text);
}

void add_contents(Training& training) {
  auto const data = dataset_options(training.config);
  if (data.family.name != "file") return;
  if (auto const contents = contents_of(data, grids_of(training.options))) {
    training.options.fingerprint.set(Fingerprint::kContents, *contents);
  }
}

}  // namespace

Training training_of(Config const& asked, Invocation const& call, DeviceChoice const& place,
                     Communicator const& comm) {
  Training training;
  comm.together([&] {
    training.config = with_batches_of(comm, asked);
    training.options = train_options(training.config);
    add_contents(training);
    training.log = log_options(training.config);
  });
  if (call.has("fresh")) training.options.restart = Restart::fresh;
  training.options.trace_steps = call.count("trace").value_or(0);
  training.options.device = place.device();
  make_family(family_options(training.config));
  return training;
}

std::string dry_run(Training const& training, Config const& limits, DeviceChoice const& place,
                    Communicator const& comm) {
  show_gpus(place, comm);
  auto text = describe_training(training.options, limits, comm, place.memory());
  show_levels(training.options, comm);
  if (comm.rank() == 0) warn(starved_levels(training.options, comm.size()));
  return text;
}

void require_sound(Training& training, Config const& limits, DeviceChoice const& place,
                   Communicator const& comm) {
  if (!resumes(training.options)) require_start(training.options);
  training.memory = require_training_memory(training.options, limits, comm, place.memory());
}

TrainSummary carry_out(Training training, DeviceChoice const& place, Communicator const& comm) {
  auto& options = training.options;
  auto const lock = prepare_directory(training, comm);
  auto const resources = resources_text(options, comm);
  log_info("training on " + resources + ", " + comm.transport());
  show_levels(options, comm);
  if (!comm.any(holds_finished_run(options))) {
    if (resumes(options)) options.step_seconds = measured_step_seconds(options);
    auto const outline = outline_training(training, place, comm);
    for (auto const& [name, text] : outline.lines) log_info(name + ": " + text);
    warn(outline.warnings);
    options.summary = to_markdown(outline);
  }
  if (lock) options.require_directory = [&lock] { lock->require_held(); };
  options.time_steps = [&] { return expected_step_seconds(options, training.config, comm); };
  TrainSummary summary = train_within(training.memory, options, comm);
  if (comm.rank() == 0) {
    tell(summary, options.directory, resources);
    if (summary.finished && summary.gained) tell_gain(options, summary);
  }
  return summary;
}

void forget_run(std::string const& directory) {
  std::filesystem::remove(checkpoint_path(directory));
  std::filesystem::remove(best_path(directory));
  std::filesystem::remove_all(std::filesystem::path(stage_path(directory, 0)).parent_path());
  // And what evaluate and --trace made of them.
  static std::regex const made(
      "report(_\\d+)?\\.html|evaluation(_train)?(_\\d+)?\\.(json|csv)|compare(_train)?(_\\d+)?\\."
      "csv|trace\\.json|(checkpoint|damaged)-\\d+\\.h5");
  std::vector<std::filesystem::path> pages;
  for (auto const& entry : std::filesystem::directory_iterator(directory)) {
    bool const is_file = entry.is_regular_file();
    if (is_file && std::regex_match(entry.path().filename().string(), made)) {
      pages.push_back(entry.path());
    }
  }
  for (auto const& page : pages) std::filesystem::remove(page);
}

std::string resources_text(TrainOptions const& options, Communicator const& comm) {
  return counted(comm.size(), "process", "processes") + " of " +
         counted(at::get_num_threads(), "thread", "threads") +
         (options.device.is_cuda() ? " on GPUs" : "");
}

}  // namespace voxcycle
