// SPDX-License-Identifier: BSD-3-Clause
// Which shards a data set has, which of them are there, and which rank makes which.
#pragma once

#include "voxcycle/core/stop_signal.hpp"
#include "voxcycle/dataset/sample_sets.hpp"
#include "voxcycle/field/family.hpp"
#include "voxcycle/io/shard.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace voxcycle {

/// One shard to make: samples [first, first + samples) of a split at one grid.
struct ShardJob {
  std::string path;
  ShardInfo info;
  std::int64_t origin = 0;  ///< index in the family of the split's first sample
};

/// All shards of the data set, coarse grids first. @throws Error for more than a directory is good
/// for.
std::vector<ShardJob> plan_jobs(DatasetOptions const& options, CoefficientFamily const& family);

/// @throws Error where shards of a set of another number of shards lie: the two could not be read.
void require_no_other_sets(std::vector<ShardJob> const& jobs);

/// @throws Error where the shards that are not there yet have no room on their disks.
void require_room_on_disk(std::vector<ShardJob> const& jobs);

/// Seconds of a job in units that only compare jobs: a reference costs some tens of times as much
/// as the coefficient that it is solved for.
std::int64_t cost(ShardInfo const& info);

/// The rank that makes each job. Costly jobs (references, fine grids) are dealt out first, each to
/// the rank that has least to do.
std::vector<int> share_jobs(std::vector<ShardJob> const& jobs, int ranks);

/// Whether the job's file is there, whole (all checksums fit), the same, and with references as
/// good as asked for. Warns where a file is there that has to be made anew.
/// @throws Error for a shard of other data, or a file that is no shard; StopRequested on a stop.
bool is_done(CoefficientFamily const& family, ShardJob const& job, StopSignal const& stop);

}  // namespace voxcycle
