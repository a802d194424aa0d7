// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>

namespace voxcycle {

/// How long a step takes: the recent mean of the stage in progress and, before its first step is
/// over, what steps of other stages let expect. A stage limited in seconds warms up by it.
class StepClock {
 public:
  static constexpr double kNewestWeight = 0.1;  ///< of the newest step in the mean

  /// @param voxels  of a batch of the stage
  void begin_stage(std::int64_t voxels);
  /// @param voxels  of the samples that the step looked at, if more than a batch
  void add(double seconds, std::int64_t voxels = 0);
  /// Of the stage's steps; 0 before the first.
  double mean() const { return mean_; }
  /// Takes another rank's mean, or that of an earlier session, for this one's.
  void agree_on(double mean) { mean_ = mean; }
  /// The mean, else that of the last stage with as many voxels a batch, else of the next smaller
  /// ones, else of the next larger ones, by voxels; 0 before any step.
  double expected() const;

 private:
  double mean_ = 0.0;
  std::int64_t voxels_ = 0;
  std::map<std::int64_t, double> earlier_;  ///< last means of earlier stages by voxels of a batch
};

}  // namespace voxcycle
