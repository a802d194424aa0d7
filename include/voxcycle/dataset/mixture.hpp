// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/dataset/augmentation.hpp"
#include "voxcycle/dataset/sample_source.hpp"
#include "voxcycle/dataset/sampler.hpp"

#include <compare>
#include <cstdint>
#include <memory>
#include <vector>

namespace voxcycle {

/// Where a sample of a mixture comes from.
struct SampleOrigin {
  int set = 0;             ///< data set, from 0
  std::int64_t index = 0;  ///< sample in it
  int orientation = 0;     ///< of the grid's, see orientations()
  auto operator<=>(SampleOrigin const&) const = default;
};

struct MixtureOptions {
  std::uint64_t seed = 1;
  std::int64_t stage = 0;
  std::int64_t block = 1;  ///< consecutive samples that stay together (see Sampler)
  Augmentation augmentation = Augmentation::none;
};

/// Training samples of one stage from one or several sets, each drawn with a given
/// probability. Which sample stands at a position (step * batch + place in the batch) is a function
/// of (seed, stage, position) alone, never of rank. With one set every epoch visits each sample
/// once; with several, a block of positions belongs to the set that a hash of its number picks, and
/// each set keeps its own order. A hash of the position picks the sample's orientation.
class Mixture {
 public:
  /// @param weights  relative probabilities, > 0, one a set
  /// @throws Error unless sets and weights fit and all sets pose one kind of problem on one grid.
  Mixture(std::vector<std::unique_ptr<SampleSource>> sets, std::vector<double> const& weights,
          MixtureOptions const& options);

  /// The sample at `position` >= 0.
  SampleOrigin at(std::int64_t position) const;
  /// Thread-safe. @throws Error for the reference solution of a turned field: there is none.
  ShardSample read(SampleOrigin const& origin, ReadReference reference = ReadReference::no,
                   Planes const& planes = {});
  /// Of the first set; grid, boundary and source are common to all, has_reference if all have one.
  ShardInfo const& info() const { return info_; }
  /// Samples of the first set.
  std::int64_t samples() const { return sets_.front()->samples(); }

 private:
  std::vector<std::unique_ptr<SampleSource>> sets_;
  std::vector<Sampler> samplers_;
  std::vector<double> upper_;  ///< of each set's share of [0, 1)
  std::vector<Orientation> orientations_;
  MixtureOptions options_;
  ShardInfo info_;
};

}  // namespace voxcycle
