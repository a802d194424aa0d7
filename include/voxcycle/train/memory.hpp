// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/rehearsal.hpp"
#include "voxcycle/cycle/stage.hpp"
#include "voxcycle/train/trainer.hpp"

#include <cstdint>

namespace voxcycle {

/// Measured: what a process has grown by after its first step besides what the step holds: pages of
/// libraries that nothing touched before, oneDNN's generated code and its packed weights.
inline constexpr std::int64_t kLoadedLater = std::int64_t{40} << 20;

/// What a training step is planned for, besides its options.
struct MemoryOptions {
  int ranks = 1;
  int threads = 1;                 ///< a rank
  std::int64_t held_out = 0;       ///< held-out samples of all ranks; 0: a lone step
  std::int64_t batches_ahead = 0;  ///< read ahead while one is worked on
  /// What the program and its libraries take before the first step.
  std::int64_t program_bytes = 0;
};

/// What a rank holds at the peak of a stage, the rank with the most samples.
struct MemoryPlan {
  std::int64_t bytes = 0;
  Rehearsal::LargestTensor largest;   ///< that an operation sees
  std::int64_t gradient_bytes = 0;    ///< that a rank puts into the sum of gradients per step
  std::int64_t statistics_bytes = 0;  ///< and into other sums
  std::int64_t gradient_sums = 0;     ///< all-reduces that the former go into
  std::int64_t statistics_sums = 0;   ///< and the latter
  std::int64_t parameters = 0;        ///< of the network
};

/// Rehearses one step of a stage (train_step, as training runs it) and, with held-out samples,
/// their evaluation. Computes nothing, needs no other process and allocates no field.
/// @throws Error for names that do not exist or a grid that the network does not fit
MemoryPlan predict_memory(TrainOptions const& options, LevelPlan const& plan,
                          MemoryOptions const& memory);

/// What `auto` stands for: whether a stage without recomputing exceeds `limit` bytes.
bool needs_recomputing(TrainOptions const& options, LevelPlan plan, MemoryOptions const& memory,
                       std::int64_t limit);

}  // namespace voxcycle
