// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/config/config.hpp"
#include "voxcycle/train/memory.hpp"

#include <cstdint>
#include <vector>

namespace voxcycle {

/// What one process may hold, and what it holds before any step: the worst of all processes.
struct MemoryFrame {
  std::int64_t limit = 0;    ///< bytes a process; 0: unknown, nothing is refused
  std::int64_t program = 0;  ///< bytes, see MemoryOptions
};

/// run.memory_limit, or this machine's share of a process, and the program's size. **Collective**.
/// @param gpu_bytes  memory of a GPU for this process, which counts then; 0: it computes on the CPU
MemoryFrame memory_frame(Config const& config, Communicator const& comm,
                         std::int64_t gpu_bytes = 0);

/// For work on fields of so many voxels, beside the program itself.
/// @param what  names it in messages, e.g. "field.npy: to solve 64^3 voxels"
/// @throws Error if it is more than the limit. **Collective**.
void require_field_memory(Config const& config, Communicator const& comm, std::string const& what,
                          double bytes);

/// What train keeps besides a step: held-out samples and batches read ahead.
MemoryOptions training_memory(Config const& config, TrainOptions const& options,
                              LevelPlan const& plan, Communicator const& comm,
                              MemoryFrame const& frame);
/// What train.recompute says of a level: auto recomputes where it does not fit otherwise.
bool recomputes(Config const& config, TrainOptions const& options, LevelPlan const& plan,
                MemoryOptions const& memory, std::int64_t limit);
/// Whether the network has weights on this grid; elsewhere it smooths alone.
bool has_block(NetworkOptions const& network, std::int64_t level);
/// @throws Error unless so many processes can share out the space of samples of this grid as
/// options.slabs says.
void require_spatial(TrainOptions const& options, Grid3 const& grid, std::int64_t processes);
/// What a lone step needs, on random fields.
MemoryOptions trial_memory(Communicator const& comm, MemoryFrame const& frame);

/// The plan of a level, if it fits.
/// @param where  names the stage in messages
/// @throws Error if a process would hold more than the limit, naming the three cheapest changes
/// that would make it fit; or if an operation would see a tensor of more than 2^31 - 1 values.
MemoryPlan require_memory(TrainOptions const& options, LevelPlan const& plan,
                          MemoryOptions const& memory, std::int64_t limit,
                          std::string const& where);

/// Settles train.recompute for the levels of the path, then require_memory for every stage.
/// @param gpu_bytes  see memory_frame
/// @return a plan a stage
std::vector<MemoryPlan> require_training_memory(TrainOptions& options, Config const& config,
                                                Communicator const& comm, std::int64_t gpu_bytes);

}  // namespace voxcycle
