// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/dataset/mixture.hpp"
#include "voxcycle/grid/micro_batches.hpp"
#include "voxcycle/io/shard.hpp"

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// The part of a global batch that one rank owns: one tensor a micro-batch.
struct LocalBatch {
  std::vector<at::Tensor> nu;     ///< each [micro-batch size, 1, nx, ny, nz], float32
  std::vector<at::Tensor> f;      ///< shape of nu; none unless the shards hold f
  std::vector<at::Tensor> u_ref;  ///< [micro-batch size, 1, nx+1, ...], float64; if asked
  std::vector<std::vector<SampleOrigin>> origin;  ///< of the samples of each micro-batch
};

/// The micro-batches of a field as one tensor: a view if they lie one after the other in memory, as
/// those of a Prefetcher do, or else a copy, pinned as they are.
at::Tensor whole(std::vector<at::Tensor> const& micro_batches);

struct PrefetchOptions {
  std::int64_t batch = 8;             ///< global batch size
  std::int64_t micro_batch_size = 2;  ///< samples a micro-batch
  std::int64_t steps = 1;             ///< steps of the stage; reading stops after the last
  std::int64_t first_step = 0;        ///< where a resumed stage goes on
  std::int64_t first_position = 0;    ///< of the samples below
  /// Samples that are read again and again, a pass of ceil(period / batch) batches after the other;
  /// the last batch of a pass may be smaller. 0: positions go on and on.
  std::int64_t period = 0;
  int ranks = 1;
  int rank = 0;
  int depth = 2;  ///< most batches read ahead; 1 where they are large
  ReadReference references = ReadReference::no;
  int workers = 1;      ///< threads that read and make samples, >= 1
  Planes planes{};      ///< that this rank has of the grid, of voxels; none: all
  bool pinned = false;  ///< in memory that a GPU copies from while it computes
};

/// Batches that are ready or being read while one is worked on: options.depth, or 1 where a rank's
/// part takes 256 MiB or more (a step then takes longer than any hitch of a disk).
int batches_ahead(Grid3 const& grid, PrefetchOptions const& options);

/// Reads the batches of one stage ahead of time on threads of its own, each rank only its own
/// samples. Batches come in their order, with the same bits for any number of threads. An exception
/// of a thread is thrown again by next(), after the batches before it.
class Prefetcher {
 public:
  /// @throws Error if references are asked for and the shards hold none.
  Prefetcher(Mixture samples, PrefetchOptions const& options);
  ~Prefetcher();  ///< stops the threads, also in the middle of a stage
  Prefetcher(Prefetcher const&) = delete;
  Prefetcher& operator=(Prefetcher const&) = delete;

  /// The batch of the next step. @throws Error after the last one, or what reading threw.
  LocalBatch next();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace voxcycle
