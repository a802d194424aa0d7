// SPDX-License-Identifier: BSD-3-Clause
// What run.spatial_processes = auto stands for.
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/config/config.hpp"
#include "voxcycle/config/memory_check.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace voxcycle {

/// What it would mean that so many processes share out a sample.
struct SpatialChoice {
  int processes = 1;
  std::int64_t bytes = 0;  ///< that a process holds at the peak of the training
  /// Planes of the finest grid that the busiest process computes in a step, its neighbours' among
  /// them, per sample of the batch.
  double planes = 0.0;
};

/// The choice with the fewest planes of those that fit, of equals the first; the one of fewest
/// bytes where none fits.
/// @param choices  not empty
/// @param limit    bytes a process; 0: unknown, all fit
SpatialChoice const& best_choice(std::vector<SpatialChoice> const& choices, std::int64_t limit);

/// Why it is the best, e.g. "2 processes per sample, 4.7 GiB a process (1 does not fit: 9.1 GiB of
/// 5.0 GiB; 4 would take about 1.1 times as long)".
std::string explain_choice(std::vector<SpatialChoice> const& choices, std::int64_t limit);

/// All numbers of these processes that can share out the samples of a training, 1 first. Rehearses
/// a step of each stage, without another process.
/// @throws Error for a config that is none of a training
std::vector<SpatialChoice> spatial_choices(Config const& config, Communicator const& comm,
                                           MemoryFrame const& frame);

/// The config with a number for run.spatial_processes = auto; says which and why. **Collective**.
/// @param gpu_bytes  see memory_frame
Config with_spatial_processes(Config config, Communicator const& comm, std::int64_t gpu_bytes);

}  // namespace voxcycle
