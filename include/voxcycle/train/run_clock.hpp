// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/cycle/budget.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace voxcycle {

/// How long something takes on grids of different sizes: the recent mean for each, and for others
/// what those let expect.
class SizedTimes {
 public:
  /// @param size  voxels, >= 1
  void add(std::int64_t size, double seconds);
  bool knows(std::int64_t size) const { return means_.contains(size); }
  /// Of a size that was not seen: a power of the size through the two sizes seen that are nearest
  /// to it, or in proportion to the size with one. NaN before anything was seen.
  double expected(std::int64_t size) const;

 private:
  struct Mean {
    double seconds = 0.0;
    double count = 0.0;
  };
  std::map<std::int64_t, Mean> means_;
};

/// When a training will be over: its steps, evaluations and checkpoints, those of stages to come
/// included. Times are those of this session.
class RunClock {
 public:
  /// A stage as it is planned.
  struct Stage {
    Budget budget;              ///< resolved
    std::int64_t voxels = 1;    ///< of the grid
    std::int64_t batch = 1;     ///< samples a step
    double step_seconds = 0.0;  ///< expected before its first step; 0: unknown
    int evaluations = 1;        ///< after steps; one more comes before the first step
    std::int64_t held_out = 1;  ///< samples of an evaluation
  };

  explicit RunClock(std::vector<Stage> stages) : stages_(std::move(stages)) {}

  void add_step(std::size_t stage, double seconds);
  /// @param voxels  of the grid
  void add_evaluation(std::int64_t voxels, std::int64_t samples, double seconds) {
    evaluations_.add(voxels, seconds / static_cast<double>(samples));
  }
  void add_checkpoint(double seconds) { checkpoints_.add(1, seconds); }

  /// Seconds from here to the end. NaN where a stage's end cannot be told yet.
  /// @param stage          in progress, with what is done of it
  /// @param stage_seconds  training time spent in it
  double left(std::size_t stage, std::int64_t step, double stage_seconds) const;

 private:
  static std::int64_t size_of(Stage const& planned) { return planned.voxels * planned.batch; }
  double step_seconds(Stage const& planned) const;

  std::vector<Stage> stages_;
  double told_ = 0.0;       ///< seconds that the steps so far were expected to take
  double taken_ = 0.0;      ///< that they took
  SizedTimes steps_;        ///< of a batch's voxels
  SizedTimes evaluations_;  ///< a sample
  SizedTimes checkpoints_;  ///< of size 1
};

}  // namespace voxcycle
