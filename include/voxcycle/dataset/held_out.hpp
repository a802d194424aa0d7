// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/io/shard.hpp"

#include <cstdint>
#include <functional>
#include <string>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Samples with reference solutions, as tensors.
struct HeldOutSet {
  Grid3 grid;
  at::Tensor omega;  ///< [S, m] float64
  at::Tensor nu;     ///< [S, 1, nx, ny, nz] float32
  at::Tensor f;      ///< [S, 1, nx, ny, nz] float32, undefined unless the shards hold it
  at::Tensor u_ref;  ///< [S, 1, nx+1, ny+1, nz+1] float64
};

/// Samples [begin, end) of a shard set, all from `begin` on where end is negative.
/// @param planes  of voxels that the fields are on; none: all
/// @throws Error if the shards hold no references.
HeldOutSet read_held_out(ShardSet& shards, std::int64_t begin = 0, std::int64_t end = -1,
                         Planes const& planes = {});

/// The held-out samples of a grid, in parts: of large ones a rank holds no more than it looks at.
struct HeldOutSamples {
  Grid3 grid;
  Planes planes{};  ///< of voxels that fields are on; none: all
  std::int64_t count = 0;
  /// Samples [begin, end).
  std::function<HeldOutSet(std::int64_t begin, std::int64_t end)> read;
};
/// Bytes of one sample.
std::int64_t held_out_bytes(Grid3 const& grid, bool has_source);
/// Whether parts of a set of so many bytes, once read, are kept for the next time: up to 1 GiB.
bool held_out_is_kept(std::int64_t bytes);

/// From the shards of a directory, see held_out_is_kept. @throws Error as ShardList, or if the
/// shards hold no references.
HeldOutSamples held_out_samples(ShardList const& list, Planes const& planes = {});
/// From memory.
HeldOutSamples held_out_samples(HeldOutSet const& set);

}  // namespace voxcycle
