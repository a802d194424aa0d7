// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/traffic.hpp"
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
  Rehearsal::LargestTensor largest;  ///< that an operation sees
  Calls gradient_sums;               ///< over all ranks, of a step
  Calls statistics_sums;             ///< likewise, of all else
  Traffic in_group;                  ///< of a step, among the ranks that share out a sample
  std::int64_t parameters = 0;       ///< of the network

  /// In a step, to all and in its group.
  Calls sent() const {
    Calls calls = in_group.all();
    calls += gradient_sums;
    return calls += statistics_sums;
  }
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
