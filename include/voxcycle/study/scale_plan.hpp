// SPDX-License-Identifier: BSD-3-Clause
// What voxcycle scale measures, and what the times say.
#pragma once

#include "voxcycle/study/study.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace voxcycle {

/// Training steps of a global batch on so many processes.
struct ScaleRun {
  std::int64_t processes = 1;
  std::int64_t batch = 1;
  std::int64_t together = 1;  ///< processes that compute a sample together (run.spatial_processes)
  auto operator<=>(ScaleRun const&) const = default;
};

/// A run measured once: a step, and the shares of it, means over the processes, that are no
/// computing.
struct ScaleTurn {
  double seconds = 0.0;
  double waiting = 0.0;   ///< at sums over processes, for the last one to come
  double reducing = 0.0;  ///< for these sums themselves
  double input = 0.0;     ///< for samples
  double computing() const { return 1.0 - waiting - reducing - input; }
  bool operator==(ScaleTurn const&) const = default;
};

using ScaleTimes = std::map<ScaleRun, std::vector<ScaleTurn>>;

/// One line of the result.
struct ScaleRow {
  ScaleRun run;
  std::vector<ScaleTurn> turns;
  Spread seconds;  ///< over the turns
  ScaleTurn mean;
  double speedup = 0.0;  ///< samples a second, relative to the first line: mean over the turns
  Spread efficiency;     ///< speedup by the ratio of processes, 1 is ideal; over the turns
};

/// Strong scaling: the same batch on every number of processes (rising, without repetition).
/// @param together  processes a sample
std::vector<ScaleRun> strong_scaling(std::vector<std::int64_t> const& processes, std::int64_t batch,
                                     std::int64_t together = 1);
/// Weak scaling: the batch grows with the processes; on the first number of them it is `batch`.
/// @throws Error if it cannot be shared out to the processes evenly.
std::vector<ScaleRun> weak_scaling(std::vector<std::int64_t> const& processes, std::int64_t batch,
                                   std::int64_t together = 1);

/// The same batch, all processes together on each of its samples.
std::vector<ScaleRun> space_scaling(std::vector<std::int64_t> const& processes, std::int64_t batch);

/// What the times say, beside the first run of the list that has some; runs without are left out.
/// A turn is compared with the first run's turn of the same number, the next in time.
std::vector<ScaleRow> scale_rows(std::vector<ScaleRun> const& runs, ScaleTimes const& times);

/// @return e.g. "804 ms", "1.38 s": with more digits than format_seconds, as steps differ by
/// little.
std::string step_time(double seconds);

/// A line a run, under `title`.
std::string scale_table(std::string const& title, std::vector<ScaleRow> const& rows);

}  // namespace voxcycle
