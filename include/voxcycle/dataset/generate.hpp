// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/dataset/sample_sets.hpp"
#include "voxcycle/grid/slab.hpp"

#include <cstdint>
#include <string>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// What all ranks did together.
struct GenerateResult {
  bool complete = false;  ///< whether all shards are there now
  std::int64_t made = 0;  ///< shards
};

/// Exit status of a command after them, which rank 0 explains unless all shards are there: 0, or
/// kStopped where a stop left something to go on from, else 1: a batch job that came back from the
/// queue would do the same again.
int status_of(GenerateResult const& result, std::string const& directory, Communicator const& comm);

/// Makes all shards of the data set that are not there yet, shared out over the ranks. A rank that
/// is asked to stop (StopSignal) gives up the shard that it is at; finished ones are kept.
/// @param device  where references are solved
/// @param memory  bytes that this process may hold; 0: unknown
/// @param slabs   how groups of processes solve together for references of the grids that it cuts,
///                by multigrid on CPUs; the first of each writes
/// **Collective**. @throws Error for a shard of other data, a solve that does not converge, or a
/// full disk.
GenerateResult generate_shards(DatasetOptions const& options, Communicator const& comm,
                               at::Device device, std::int64_t memory, Slabs const& slabs = {});

}  // namespace voxcycle
