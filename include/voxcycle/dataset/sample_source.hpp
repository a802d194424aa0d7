// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/field/family.hpp"
#include "voxcycle/field/source.hpp"
#include "voxcycle/io/shard.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace voxcycle {

/// The samples of one split and grid, wherever they come from.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  /// What a shard with all of them says of itself.
  virtual ShardInfo const& info() const = 0;
  virtual std::int64_t samples() const { return info().samples; }
  /// Sample by index in [0, samples()), or some planes of it. Thread-safe.
  virtual ShardSample read(std::int64_t index, ReadReference reference, Planes const& planes) = 0;
};

/// The shards of a directory. @throws Error as ShardList.
std::unique_ptr<SampleSource> stored_samples(ShardList const& list);

/// omega and nu of a sample of the family, or some planes of it.
/// @param info    seed and grid
/// @param origin  index in the family of sample 0
ShardSample make_coefficient(CoefficientFamily const& family, ShardInfo const& info,
                             std::int64_t origin, std::int64_t index, Planes const& planes = {});

/// Samples made when they are asked for: the same bytes as those of shards, but none on a disk.
/// @throws Error if the info promises references.
std::unique_ptr<SampleSource> fresh_samples(std::unique_ptr<CoefficientFamily const> family,
                                            Source const& source, ShardInfo const& info,
                                            std::int64_t origin);

}  // namespace voxcycle
