// SPDX-License-Identifier: BSD-3-Clause
// What voxcycle scale measures, and what the times say.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace voxcycle {

/// A measurement: training steps of a global batch on so many processes.
struct ScaleRun {
  std::int64_t processes = 1;
  std::int64_t batch = 1;
  std::int64_t together = 1;  ///< processes that compute a sample together (run.spatial_processes)
  auto operator<=>(ScaleRun const&) const = default;
};

struct ScaleTime {
  double seconds = 0.0;    ///< of a step
  double reduction = 0.0;  ///< share of sums over processes in it
};

/// One line of the result.
struct ScaleRow {
  ScaleRun run;
  ScaleTime time;
  double speedup = 0.0;     ///< samples a second, relative to the first line
  double efficiency = 0.0;  ///< speedup by the ratio of processes; 1 is ideal
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

/// What the times say, beside the first run of the list.
std::vector<ScaleRow> scale_rows(std::vector<ScaleRun> const& runs,
                                 std::map<ScaleRun, ScaleTime> const& times);

/// A line a run, under `title`.
std::string scale_table(std::string const& title, std::vector<ScaleRow> const& rows);

}  // namespace voxcycle
