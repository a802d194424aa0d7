// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/config/config.hpp"

#include <cstdint>

namespace voxcycle {

/// What all ranks did together.
struct GenerateResult {
  bool complete = false;  ///< whether all shards are there now
  std::int64_t made = 0;  ///< shards
};

/// Exit status of a command after them, which rank 0 explains unless all shards are there: 0, or
/// kStopped where a stop left something to go on from, else 1: a batch job that came back from the
/// queue would do the same again.
int status_of(GenerateResult const& result, Config const& config, Communicator const& comm);

/// Makes all shards of the config that are not there yet, shared out over the ranks; references are
/// solved where run.device says. A rank that is asked to stop (StopSignal) gives up the shard that
/// it is at; finished ones are kept.
/// **Collective**. @throws Error for a shard of other data, a solve that does not converge, or a
/// full disk.
GenerateResult generate_shards(Config const& config, Communicator const& comm);

}  // namespace voxcycle
