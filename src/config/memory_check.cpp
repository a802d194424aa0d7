// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/config/memory_check.hpp"

#include "voxcycle/comm/largest.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/memory.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/network/conv.hpp"
#include "voxcycle/network/network.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "config/memory_advice.hpp"
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

namespace voxcycle {
namespace {

/// What a process holds of a GPU before any step: context, kernels, the libraries' workspaces.
constexpr std::int64_t kGpuProgram = std::int64_t{3} << 29;

/// What oneDNN keeps for its float32 convolutions beside torch's tensors: 30 to 70 MiB measured on
/// grids of 32^3 and 64^3 (torch 2.11, AVX-512).
constexpr std::int64_t kKeptForFloat32 = std::int64_t{40} << 20;

/// The grid of the network that a tensor belongs to: it may be a slab along x, with its neighbours'
/// planes, or have a value a node.
Grid3 grid_of(Rehearsal::LargestTensor const& part, Grid3 const& finest) {
  Grid3 grid = finest;
  while (grid.voxels[1] > part.voxels[1] && grid.divisible(1)) grid = grid.coarsened();
  return grid;
}

void require_small_tensors(TrainOptions const& options, Grid3 const& finest,
                           Rehearsal::LargestTensor const& largest, std::int64_t micro_batch,
                           std::string const& where) {
  if (largest.elements <= kMaxElements) return;
  Grid3 const grid = grid_of(largest, finest);
  std::int64_t const level = grid.level();
  std::int64_t const of_sample = largest.elements / micro_batch;
  bool const multigrid = options.network.name == "multigrid";
  std::string const key = multigrid ? "network.channels of level " + std::to_string(level)
                                    : std::string("network.base_channels");
  bool const of_block = has_block(options.network, level);
  std::int64_t of_level = options.network.base_channels;
  if (multigrid)
    of_level =
        of_block ? options.network.channels.at(block_of(options.network, level)) : largest.channels;
  // Where decoders join channels, the tensor has twice those of the level.
  std::int64_t const joined = std::max<std::int64_t>(1, largest.channels / of_level);
  std::int64_t const channels = kMaxElements / (of_sample / largest.channels * joined);
  std::string advice;
  if (of_sample <= kMaxElements) {
    advice =
        format("Lower train.micro_batch_size to %ld", static_cast<long>(kMaxElements / of_sample));
  } else if (of_block && channels > 0) {
    advice = format("Lower %s to %ld%s", key.c_str(), static_cast<long>(channels),
                    micro_batch > 1 ? " with train.micro_batch_size = 1" : "");
  } else {
    advice = "Use a coarser finest level in cycle.levels";
  }
  throw Error(
      format("%s: a tensor of %ld %s with %ld channels on %s would have %ld values (the "
             "operations count at most %ld). %s.",
             where.c_str(), static_cast<long>(micro_batch), micro_batch == 1 ? "sample" : "samples",
             static_cast<long>(largest.channels), grid.label().c_str(),
             static_cast<long>(largest.elements), static_cast<long>(kMaxElements), advice.c_str()));
}

}  // namespace

MemoryFrame memory_frame(Config const& config, Communicator const& comm, std::int64_t gpu_bytes) {
  bool const on_gpu = gpu_bytes > 0;
  double const chosen = config.real("run.memory_limit", 0.0, 1e6) * kGib;
  double const all =
      static_cast<double>(on_gpu ? gpu_bytes : machine_memory_bytes() / comm.local_size());
  auto const limit = static_cast<std::int64_t>(chosen > 0.0 ? chosen : kUsableShare * all);
  std::int64_t const kept = config.text("train.precision") == "f32" ? kKeptForFloat32 : 0;
  std::int64_t const program = on_gpu ? kGpuProgram : resident_bytes() + kLoadedLater + kept;
  return {-largest_of(comm, -limit), largest_of(comm, program)};
}

void require_field_memory(Config const& config, Communicator const& comm, std::string const& what,
                          double bytes) {
  auto const frame = memory_frame(config, comm);
  double const needed = static_cast<double>(frame.program) + bytes;
  auto const limit = static_cast<double>(frame.limit);
  VOXCYCLE_REQUIRE(frame.limit == 0 || needed <= limit,
                   what << " needs " << format_bytes(needed) << " of memory a process, but "
                        << format_bytes(limit)
                        << " are available (run.memory_limit). Use a coarser or smaller field, or "
                           "a machine with more.");
}

MemoryOptions training_memory(Config const& config, TrainOptions const& options,
                              LevelPlan const& plan, Communicator const& comm,
                              MemoryFrame const& frame) {
  int const groups = comm.size() / options.slabs.processes(plan.grid);
  return {.ranks = comm.size(),
          .threads = at::get_num_threads(),
          .held_out = sample_count(dataset_options(config), "held_out", plan.grid),
          .batches_ahead = batches_ahead(plan.grid, {.batch = plan.batch, .ranks = groups}),
          .program_bytes = frame.program};
}

namespace {

/// Settles train.recompute for the levels of the path.
void choose_recomputing(TrainOptions& options, Config const& config, MemoryFrame const& frame,
                        Communicator const& comm) {
  for (int const level : std::set<int>(options.path.begin(), options.path.end())) {
    auto& plan = options.levels[static_cast<std::size_t>(level)];
    auto const memory = training_memory(config, options, plan, comm, frame);
    plan.recompute = recomputes(config, options, plan, memory, frame.limit);
    if (plan.recompute && config.text("train.recompute") == "auto" && comm.rank() == 0) {
      log_info(plan.grid.label() +
               ": blocks of the network are computed again in backward, as "
               "all activations would not fit (train.recompute)");
    }
  }
}

}  // namespace

bool recomputes(Config const& config, TrainOptions const& options, LevelPlan const& plan,
                MemoryOptions const& memory, std::int64_t limit) {
  auto const choice = config.text("train.recompute");
  if (choice != "auto") return choice == "yes";
  return limit > 0 && needs_recomputing(options, plan, memory, limit);
}

bool has_block(NetworkOptions const& network, std::int64_t level) {
  return network.name != "multigrid" || block_of(network, level) > 0;
}

void require_spatial(TrainOptions const& options, Grid3 const& grid, std::int64_t processes) {
  int const count = options.slabs.count;
  int const parts = options.slabs.parts_of_cut();
  if (count == 1 && parts == 1) return;
  VOXCYCLE_REQUIRE(options.network.name == "multigrid",
                   (count > 1 ? "run.spatial_processes = " : "run.spatial_parts = ")
                       << (count > 1 ? count : parts) << " is for network.name = multigrid, not "
                       << options.network.name << ". Leave it out.");
  VOXCYCLE_REQUIRE(
      processes % count == 0,
      "run.spatial_processes = " << count << " needs a multiple of " << count << " processes, not "
                                 << processes
                                 << ". Start as many with mpirun or srun, or choose another "
                                    "run.spatial_processes.");
  auto const& channels = options.network.channels;
  VOXCYCLE_REQUIRE(
      channels.empty() || options.slabs.above >= channels.begin()->first,
      "run.spatial_above = " << options.slabs.above
                             << " is below the coarsest level of network.channels, which "
                                "is not shared out. Let it be "
                             << channels.begin()->first << " or more.");
  options.slabs.require_fits(grid);
}

MemoryOptions trial_memory(Communicator const& comm, MemoryFrame const& frame) {
  return {.ranks = comm.size(), .threads = at::get_num_threads(), .program_bytes = frame.program};
}

MemoryPlan require_memory(TrainOptions const& options, LevelPlan const& plan,
                          MemoryOptions const& memory, std::int64_t limit,
                          std::string const& where) {
  MemoryPlan const planned = predict_memory(options, plan, memory);
  require_small_tensors(options, plan.grid, planned.largest,
                        std::min(options.micro_batch_size, plan.batch), where);
  if (limit == 0 || planned.bytes <= limit) return planned;
  throw Error(
      format("%s needs %s of memory a process at its peak, but %s are available "
             "(run.memory_limit). %s",
             where.c_str(), format_bytes(static_cast<double>(planned.bytes)).c_str(),
             format_bytes(static_cast<double>(limit)).c_str(),
             memory_advice(options, plan, memory, limit).c_str()));
}

std::vector<MemoryPlan> require_training_memory(TrainOptions& options, Config const& config,
                                                Communicator const& comm, std::int64_t gpu_bytes) {
  MemoryFrame const frame = memory_frame(config, comm, gpu_bytes);
  for (int const level : options.path) {
    auto const& grid = options.levels[static_cast<std::size_t>(level)].grid;
    require_fits(options.network, grid);
    require_spatial(options, grid, comm.size());
  }
  choose_recomputing(options, config, frame, comm);
  std::vector<MemoryPlan> plans;
  for (auto const& stage : plan_stages(options.path, options.levels)) {
    std::string const where =
        format("stage %d (%s)", stage.number + 1, stage.plan.grid.label().c_str());
    plans.push_back(require_memory(options, stage.plan,
                                   training_memory(config, options, stage.plan, comm, frame),
                                   frame.limit, where));
  }
  return plans;
}

}  // namespace voxcycle
