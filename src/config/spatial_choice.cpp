// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/config/spatial_choice.hpp"

#include "voxcycle/comm/largest.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/grid/micro_batches.hpp"

#include <algorithm>
#include <set>

namespace voxcycle {
namespace {

bool fits(SpatialChoice const& choice, std::int64_t limit) {
  return limit == 0 || choice.bytes <= limit;
}

/// Planes that a process has of a grid, the one with the most.
std::int64_t thickest_part(Slabs const& slabs, Grid3 const& grid) {
  if (!slabs.cut(grid)) return grid.voxels[0];
  std::int64_t planes = 0;
  for (int rank = 0; rank < slabs.count; ++rank)
    planes = std::max(planes, slabs.of(grid, rank).part().voxels[0]);
  return planes;
}

double planes_per_sample(TrainOptions const& options, LevelPlan const& plan, int processes) {
  int const groups = processes / options.slabs.processes(plan.grid);
  auto const samples = std::min(options.micro_batch_size, plan.batch) *
                       micro_batches_in_turn(plan.batch, options.micro_batch_size, groups);
  return static_cast<double>(thickest_part(options.slabs, plan.grid) * samples) /
         static_cast<double>(plan.batch);
}

/// Of all levels that the path visits.
std::int64_t peak_bytes(TrainOptions const& options, Config const& config, Communicator const& comm,
                        MemoryFrame const& frame) {
  std::int64_t peak = 0;
  for (int const level : std::set<int>(options.path.begin(), options.path.end())) {
    LevelPlan plan = options.levels[static_cast<std::size_t>(level)];
    auto const memory = training_memory(config, options, plan, comm, frame);
    plan.recompute = recomputes(config, options, plan, memory, frame.limit);
    peak = std::max(peak, predict_memory(options, plan, memory).bytes);
  }
  return peak;
}

}  // namespace

SpatialChoice const& best_choice(std::vector<SpatialChoice> const& choices, std::int64_t limit) {
  return *std::min_element(choices.begin(), choices.end(), [&](auto const& a, auto const& b) {
    if (fits(a, limit) != fits(b, limit)) return fits(a, limit);
    return fits(a, limit) ? a.planes < b.planes : a.bytes < b.bytes;
  });
}

std::string explain_choice(std::vector<SpatialChoice> const& choices, std::int64_t limit) {
  auto const& best = best_choice(choices, limit);
  std::vector<std::string> others;
  for (auto const& other : choices) {
    if (other.processes == best.processes) continue;
    others.push_back(fits(other, limit)
                         ? format("%d would take about %.2g times as long", other.processes,
                                  other.planes / best.planes)
                         : format("%d does not fit: %s of %s", other.processes,
                                  format_bytes(static_cast<double>(other.bytes)).c_str(),
                                  format_bytes(static_cast<double>(limit)).c_str()));
  }
  return counted(best.processes, "process", "processes") + " per sample, " +
         format_bytes(static_cast<double>(best.bytes)) + " a process" +
         (fits(best, limit) ? "" : ", which does not fit either") +
         (others.empty() ? "" : " (" + join(others, "; ") + ")");
}

std::vector<SpatialChoice> spatial_choices(Config const& config, Communicator const& comm,
                                           MemoryFrame const& frame) {
  std::vector<SpatialChoice> choices;
  for (int count = 1; count <= comm.size(); ++count) {
    if (comm.size() % count != 0) continue;
    Config with_count = config;
    with_count.set("run.spatial_processes", std::to_string(count));
    try {
      auto const options = train_options(with_global_batches(with_count, comm.size()));
      auto const& finest = options.levels.back();
      if (count > 1 && !options.slabs.cut(finest.grid)) continue;
      for (auto const& plan : options.levels) require_spatial(options, plan.grid, comm.size());
      choices.push_back({count, peak_bytes(options, config, comm, frame),
                         planes_per_sample(options, finest, comm.size())});
    } catch (Error const&) {
      if (count == 1) throw;
    }
  }
  return choices;
}

Config with_spatial_processes(Config config, Communicator const& comm, std::int64_t gpu_bytes) {
  if (config.text("run.spatial_processes") != "auto") return config;
  VOXCYCLE_REQUIRE(config.integer("ensemble.at_once", 1) == 1,
                   "run.spatial_processes = auto is for one training at a time. Give a number, or "
                   "set ensemble.at_once = 1.");
  auto const frame = memory_frame(config, comm, gpu_bytes);
  auto const choices = spatial_choices(config, comm, frame);
  // That of the first process, whose threads need not be as many as another's.
  auto const best = best_choice(choices, frame.limit).processes;
  auto const count = largest_of(comm, comm.rank() == 0 ? best : 0);
  config.set("run.spatial_processes", std::to_string(count));
  if (comm.rank() == 0)
    log_info("run.spatial_processes = auto: " + explain_choice(choices, frame.limit));
  return config;
}

}  // namespace voxcycle
