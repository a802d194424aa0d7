// SPDX-License-Identifier: BSD-3-Clause
#include "study/scale_study.hpp"

#include "voxcycle/config/memory_check.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/study/runner.hpp"
#include "voxcycle/study/scale_model.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

namespace voxcycle {
namespace {

constexpr char kFirst[] = "first number of processes";

/// Of this call.
std::vector<std::int64_t> process_counts(ScaleOptions const& options) {
  auto counts = options.processes;
  if (counts.empty() && options.part != ScalePart::report) {
    for (int count = 1; count <= options.cores; count *= 2) counts.push_back(count);
  }
  for (std::size_t k = 1; k < counts.size(); ++k) {
    VOXCYCLE_REQUIRE(counts[k] > counts[k - 1],
                     "--processes: '" << counts[k] << "' is no larger number of processes than the "
                                      << "one before. Give rising numbers from 1, e.g. 1,2,4.");
  }
  return counts;
}

/// Whether training has samples of the grid to read.
bool has_samples(Config const& config, Grid3 const& grid) {
  auto const data = dataset_options(config);
  try {
    if (data.on_the_fly) return sample_count(data, "train", grid) > 0;
    require_shards(data, "train", grid);
  } catch (Error const&) {
    return false;
  }
  return true;
}

}  // namespace

ScalePlan plan_of(Config const& config, ScaleOptions const& options) {
  ScalePlan plan;
  plan.directory = config.text("run.directory") + (options.in_space ? "/scale_space" : "/scale");
  plan.counts = process_counts(options);
  auto const there = options.fresh ? std::nullopt : read_scale_study(plan.directory);
  VOXCYCLE_REQUIRE(there || options.part != ScalePart::report,
                   "--report: nothing is measured in " << plan.directory << " yet.");
  auto const known = there.value_or(Fingerprint());
  auto const number = [&](char const* key, std::optional<std::int64_t> asked,
                          std::int64_t otherwise) {
    auto const before = parse_number<std::int64_t>(known.value(key).value_or(""));
    auto const value = asked.value_or(before.value_or(otherwise));
    plan.study.set(key, std::to_string(value));
    return value;
  };
  plan.first = number(kFirst, {}, plan.counts.empty() ? 1 : plan.counts.front());
  auto const with_batches = with_global_batches(config, plan.first);
  plan.training = train_options(with_batches);
  plan.level = plan.training.levels.back();
  auto const grid = level_grid(config, number("grid", options.grid, plan.level.grid.level()));
  plan.batch = number("batch", options.batch, plan.level.batch);
  for (auto const& level : plan.training.levels) {
    if (level.grid == grid) plan.level = level;
  }
  plan.level.grid = grid;
  if (options.in_space && options.processes.empty()) {
    std::erase_if(plan.counts, [&](std::int64_t count) {
      return count > 1 && grid.voxels[0] % (2 * count) != 0;  // nobody asked for them
    });
  }
  plan.reads_samples = has_samples(config, grid);
  plan.study.set("samples", plan.reads_samples ? "read as in training" : "random fields");
  auto const of_config = with_batches.fingerprint();
  for (auto const& [key, value] : of_config.entries()) plan.study.set(key, value);
  return plan;
}

std::vector<PlannedTable> tables_of(ScalePlan const& plan, bool in_space,
                                    std::vector<std::int64_t> const& processes) {
  Slabs const& slabs = plan.training.slabs;
  Grid3 const& grid = plan.level.grid;
  if (!in_space) {
    int const together = slabs.processes(grid);
    for (auto const count : processes) {
      VOXCYCLE_REQUIRE(count % together == 0,
                       "run.spatial_processes = " << together
                                                  << " needs multiples of it in --processes, not "
                                                  << count << '.');
    }
    return {{"strong scaling: the same batch", "strong",
             strong_scaling(processes, plan.batch, together)},
            {"weak scaling: the same samples per process", "weak",
             weak_scaling(processes, plan.batch, together)}};
  }
  for (auto const count : processes) {
    auto together = plan.training;
    together.slabs.count = static_cast<int>(count);
    require_spatial(together, grid, count);
    VOXCYCLE_REQUIRE(count == 1 || together.slabs.cut(grid),
                     "--space: grids of " << grid.label()
                                          << " are not shared out (run.spatial_above = "
                                          << slabs.above << "). Give a larger --grid.");
  }
  return {{"space: the same batch, all processes together on each sample", "space",
           space_scaling(processes, plan.batch)}};
}

std::vector<PlannedTable> predicted_tables(ScalePlan const& plan, bool in_space) {
  auto processes = predicted_processes(plan.first);
  if (!in_space) return tables_of(plan, in_space, processes);
  Slabs slabs = plan.training.slabs;
  std::erase_if(processes, [&](std::int64_t count) {
    slabs.count = static_cast<int>(count);
    return count > 1 && !slabs.cut(plan.level.grid);
  });
  auto tables = tables_of(plan, in_space, processes);
  std::int64_t const micro_batch = plan.training.micro_batch_size;
  std::vector<ScaleRun> runs{{1, micro_batch, 1}};
  for (auto const together : processes) {
    runs.push_back({kMostPredicted, micro_batch * (kMostPredicted / together), together});
  }
  tables.push_back({"groups: a micro-batch for each group of processes", "groups", runs});
  return tables;
}

std::vector<std::int64_t> all_counts(ScalePlan const& plan,
                                     std::map<ScaleRun, MeasuredRun> const& measured) {
  std::set<std::int64_t> counts(plan.counts.begin(), plan.counts.end());
  for (auto const& [run, what] : measured) counts.insert(run.processes);
  counts.insert(plan.first);
  VOXCYCLE_REQUIRE(*counts.begin() == plan.first,
                   plan.directory << " begins with " << process_count_text(plan.first)
                                  << ", and --processes has fewer. Measure anew with --fresh.");
  return {counts.begin(), counts.end()};
}

std::vector<ScaleRun> wanted_runs(ScalePlan const& plan, std::vector<PlannedTable> const& tables,
                                  std::vector<ScaleRun> const& computing) {
  std::set<ScaleRun> wanted(computing.begin(), computing.end());
  for (auto const& table : tables) wanted.insert(table.runs.begin(), table.runs.end());
  std::erase_if(wanted, [&](ScaleRun const& run) {
    return !std::count(plan.counts.begin(), plan.counts.end(), run.processes);
  });
  return {wanted.begin(), wanted.end()};
}

}  // namespace voxcycle
