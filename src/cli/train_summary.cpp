// SPDX-License-Identifier: BSD-3-Clause
#include "cli/train_summary.hpp"

#include "voxcycle/comm/machines.hpp"
#include "voxcycle/config/model.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/build_info.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/grid/micro_batches.hpp"
#include "voxcycle/io/shard.hpp"
#include "voxcycle/train/checkpoint.hpp"
#include "voxcycle/train/run_directory.hpp"
#include "voxcycle/train/stage_budget.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>

#include <ATen/ATen.h>
#include <torch/version.h>

namespace voxcycle {
namespace {

std::string machines_line(std::vector<Machine> const& machines) {
  std::vector<std::string> texts;
  for (auto const& machine : machines) texts.push_back(describe(machine));
  return join(texts);
}

/// @param names  of the ranks' devices, which all are of one kind
std::string devices_line(std::vector<std::string> const& names, bool on_gpus) {
  if (!on_gpus) return names.front();
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    texts.push_back(format("process %zu: ", rank) + names[rank]);
  }
  return join(texts);
}

std::string transport_line(Communicator const& comm, bool through_host) {
  if (comm.size() == 1) return "none, one process";
  return comm.transport() + (through_host ? ", through the host's memory" : "");
}

/// A data set, with its size on each grid.
std::string data_line(std::string const& directory, std::vector<std::string> const& sizes,
                      double probability) {
  return directory + ": " + join(sizes) + " training samples, probability " +
         format("%.3g", probability);
}

std::string size_on(Grid3 const& grid, std::int64_t samples) {
  return format("%ld", static_cast<long>(samples)) + " at " + grid.label();
}

void add_data(TrainingOutline& outline, TrainOptions const& options, DatasetOptions const& data) {
  double total = 1.0;
  for (auto const& other : options.more_data) total += other.weight;
  std::vector<std::string> sizes, held_out;
  for (auto const& grid : grids_of(options)) {
    sizes.push_back(size_on(grid, sample_count(data, "train", grid)));
    held_out.push_back(size_on(grid, sample_count(data, "held_out", grid)));
  }
  outline.lines.emplace_back(
      "data",
      data_line(options.data + (data.on_the_fly ? " (made on the fly)" : ""), sizes, 1.0 / total));
  for (auto const& other : options.more_data) {
    sizes.clear();
    for (auto const& grid : grids_of(options)) {
      ShardList const list(shard_directory(other.directory, "train", grid));
      sizes.push_back(size_on(grid, list.samples()));
    }
    outline.lines.emplace_back("data", data_line(other.directory, sizes, other.weight / total));
  }
  outline.lines.emplace_back("held out", join(held_out));
}

/// @return steps of all stages
double add_stages(TrainingOutline& outline, TrainOptions const& options, DatasetOptions const& data,
                  int processes, std::vector<MemoryPlan> const& memory) {
  auto const& seconds = options.step_seconds;
  double steps = 0.0;
  for (auto const& stage : plan_stages(options.path, options.levels)) {
    auto const number = static_cast<std::size_t>(stage.number);
    auto const known = seconds.find(options.path[number]);
    double const a_step = known == seconds.end() ? 0.0 : known->second;
    std::int64_t const samples = sample_count(data, "train", stage.plan.grid);
    outline.lines.emplace_back(
        format("stage %d", stage.number + 1),
        stage_line(options, stage, processes, samples, memory.at(number).bytes, a_step));
    auto const budget = stage_budget(options, stage.plan, samples);
    steps += a_step > 0.0 ? expected_steps(budget, a_step) : static_cast<double>(budget.steps);
  }
  return steps;
}

void add_disk(TrainingOutline& outline, std::string const& directory, double needed) {
  std::error_code problem;
  auto const space = std::filesystem::space(directory, problem);
  auto text = "about " + format_bytes(needed);
  if (!problem) {
    auto const available = static_cast<double>(space.available);
    text += " of " + format_bytes(available) + " that are free";
    if (needed > available) {
      outline.warnings.push_back(directory + " will need " + text +
                                 ": free some space, or choose another run.directory.");
    }
  }
  outline.lines.emplace_back("disk", text);
}

}  // namespace

TrainingOutline outline_training(Training const& training, DeviceChoice const& place,
                                 Communicator const& comm) {
  auto const& [config, options, log, memory] = training;
  bool const on_gpus = options.device.is_cuda();
  auto const machines = machines_of(comm);
  auto const devices = comm.all_gather_text(place.name());
  if (comm.rank() != 0) return {};
  TrainingOutline outline;
  auto const add = [&](char const* name, std::string const& text) {
    outline.lines.emplace_back(name, text);
  };
  add("build", std::string("voxcycle ") + build_info::version + ", commit " + build_info::commit +
                   ", " + build_info::compiler + ", torch " + TORCH_VERSION);
  add("machines", machines_line(machines));
  add("devices", devices_line(devices, on_gpus));
  add("transport", transport_line(comm, place.through_host()));
  add("precision", config.text("train.precision") + ", sums " + config.text("train.reduction"));
  auto const data = dataset_options(config);
  add_data(outline, options, data);
  std::int64_t const parameters = memory.front().parameters;
  add("network", describe_network(settled(config)) +
                     format(", %ld parameters", static_cast<long>(parameters)));
  double const steps = add_stages(outline, options, data, comm.size(), memory);
  outline.warnings = warnings_of(machines, on_gpus ? IdleCores::are_fine : IdleCores::matter);
  for (auto& text : starved_levels(options, comm.size())) {
    outline.warnings.push_back(std::move(text));
  }
  add_disk(outline, options.directory, disk_bytes(options, parameters, steps));
  return outline;
}

std::string to_markdown(TrainingOutline const& outline) {
  std::string text = "| | |\n|---|---|\n";
  for (auto const& [name, value] : outline.lines) text += "| " + name + " | " + value + " |\n";
  for (auto const& warning : outline.warnings) text += "| warning | " + warning + " |\n";
  return text;
}

std::string stage_line(TrainOptions const& options, Stage const& stage, int processes,
                       std::int64_t samples, std::int64_t memory, double step_seconds) {
  auto const& plan = stage.plan;
  Budget const budget = stage_budget(options, plan, samples);
  std::string text =
      plan.grid.label() + ", " + budget_text(plan, budget) +
      format(", batch %ld in %ld micro-batches, ", static_cast<long>(plan.batch),
             static_cast<long>(micro_batch_count(plan.batch, options.micro_batch_size))) +
      plan.optimizer;
  if (plan.optimizer != kLbfgs) {
    int const groups = processes / options.slabs.processes(plan.grid);
    double const rate = plan.rate * rate_scale(options.rate_scaling, groups);
    text += format(" at rate %.3g", rate);
    bool const slower = stage.trained_level > 0 && plan.old_level_factor != 1.0;
    if (slower) text += format(" (levels trained before: %.3g)", rate * plan.old_level_factor);
  }
  text += ", " + format_bytes(static_cast<double>(memory)) + " per process";
  if (step_seconds > 0.0) {
    text += ", about " + format_seconds(step_seconds * expected_steps(budget, step_seconds));
  } else if (budget.seconds == 0.0) {
    text += ", time not known yet (train --dry-run predicts it)";
  }
  return text;
}

std::map<int, double> measured_step_seconds(TrainOptions const& options) {
  CheckpointReader const checkpoint(checkpoint_path(options.directory));
  return measured_step_seconds(metrics_from_csv(checkpoint.header().metrics), options.path);
}

std::map<int, double> measured_step_seconds(std::vector<MetricRow> const& rows,
                                            LevelPath const& path) {
  std::map<int, double> seconds;
  MetricRow const* first = nullptr;  // step of its stage
  for (auto const& row : rows) {
    if (std::isnan(row.loss) || static_cast<std::size_t>(row.stage) >= path.size()) continue;
    if (first == nullptr || first->stage != row.stage) {
      first = &row;
    } else {
      seconds[path[static_cast<std::size_t>(row.stage)]] =
          (row.seconds - first->seconds) / static_cast<double>(row.step - first->step);
    }
  }
  return seconds;
}

std::vector<std::string> starved_levels(TrainOptions const& options, int processes) {
  std::vector<std::string> texts;
  for (auto const& plan : options.levels) {
    int const together = options.slabs.processes(plan.grid);
    int const groups = processes / together;
    std::int64_t const micro_batches = micro_batch_count(plan.batch, options.micro_batch_size);
    if (plan.optimizer == kLbfgs || micro_batches >= groups) continue;
    texts.push_back(plan.grid.label() +
                    format(": %ld of %d processes have no samples in a step (batches of %ld are "
                           "%ld micro-batches of train.micro_batch_size): raise cycle.batch, lower "
                           "train.micro_batch_size, or share samples out with "
                           "run.spatial_processes.",
                           static_cast<long>((groups - micro_batches) * together), processes,
                           static_cast<long>(plan.batch), static_cast<long>(micro_batches)));
  }
  return texts;
}

double disk_bytes(TrainOptions const& options, std::int64_t parameters, double steps) {
  // In units of the weights, which are float32, or float64 in that precision.
  double state = 0.0;
  for (int const level : options.path) {
    auto const& name = options.levels[static_cast<std::size_t>(level)].optimizer;
    // Pairs of vectors, and three vectors in float64; one moment; two.
    double const own = name == kLbfgs  ? 2.0 * static_cast<double>(options.lbfgs.pairs) + 6.0
                       : name == "sgd" ? 1.0
                                       : 2.0;
    state = std::max(state, own);
  }
  double const checkpoint = 2.0 + state;  // with the averages
  // A new one is there before the oldest goes; best.h5.
  double archives = (options.keep_checkpoints + 1) * checkpoint + 2.0;
  if (options.keep_stages) archives += static_cast<double>(options.path.size());
  double const weights = static_cast<double>(parameters) * (options.dtype == at::kDouble ? 8 : 4);
  constexpr double kMetrics = 400.0;  // of a step: metrics.csv, its copies in archives, events
  return archives * weights + steps * kMetrics;
}

}  // namespace voxcycle
