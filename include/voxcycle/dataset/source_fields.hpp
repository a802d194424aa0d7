// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/field/source.hpp"
#include "voxcycle/io/shard.hpp"

#include <cstdint>
#include <mutex>
#include <vector>

namespace voxcycle {

/// The sources of samples: what each sample has of its own is made anew, what all have in common
/// once per grid.
class SourceFields {
 public:
  explicit SourceFields(Source source);

  /// f of a sample, or some planes of it, z fastest; none where the info says that samples have no
  /// source of their own.
  /// @param index  of the sample in its data set. Thread-safe.
  /// @throws Error as formula_values and file_source_values.
  std::vector<float> of(ShardInfo const& info, std::int64_t index, Planes const& planes = {}) const;

 private:
  Source source_;
  mutable std::mutex mutex_;
  struct Values {
    Grid3 grid;
    Planes planes;
    std::vector<float> f;
  };
  mutable std::vector<Values> common_;  ///< those asked for so far
};

}  // namespace voxcycle
