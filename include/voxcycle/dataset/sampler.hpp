// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace voxcycle {

/// Pseudo-random order of samples as a pure function of (seed, stage, position): position p of a
/// stage (p = step * batch + place in the batch) lies in epoch p / samples; each epoch visits every
/// sample once, in an order of its own (a Feistel permutation walked back into range; Black and
/// Rogaway 2002). Independent of rank and of the number of processes.
class Sampler {
 public:
  /// @param samples  size of the data set, >= 1
  /// @param block    samples that stay together, >= 1. Consecutive points of a Sobol sequence fill
  ///                 the parameter space evenly: a batch of whole blocks has a less noisy gradient.
  Sampler(std::uint64_t seed, std::int64_t stage, std::int64_t samples, std::int64_t block = 1);
  /// @return the sample index in [0, samples) at `position` >= 0
  std::int64_t operator()(std::int64_t position) const;

 private:
  /// The block that comes at place `value` of an epoch.
  std::uint64_t permuted(std::uint64_t epoch, std::uint64_t value) const;

  std::uint64_t seed_;
  std::uint64_t stage_;
  std::uint64_t samples_;
  std::uint64_t block_;
  std::uint64_t blocks_ = 0;
  int half_bits_ = 1;
};

}  // namespace voxcycle
