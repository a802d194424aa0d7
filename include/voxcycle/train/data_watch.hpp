// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/train/train_step.hpp"

#include <cstddef>
#include <deque>
#include <string>

namespace voxcycle {

/// Notices that steps wait for their data: reading ahead hides a disk only while it is faster than
/// training.
class DataWatch {
 public:
  static constexpr std::size_t kSteps = 50;        ///< looked at together
  static constexpr double kToleratedShare = 0.10;  ///< of their time

  explicit DataWatch(bool made_on_the_fly = false) : made_on_the_fly_(made_on_the_fly) {}

  /// Forgets the steps so far, and will not count the first to come: no batch was read ahead of it.
  void begin_stage();
  void add(StepTimes const& times);
  /// The share of time that the last kSteps steps of the stage waited for data; 0 before so many.
  double share() const;

  /// What to tell the user of the greatest share of all ranks; empty if it is tolerated or the user
  /// was told before.
  std::string warning(double greatest_share);

 private:
  struct Seconds {
    double waited, whole;
  };
  bool made_on_the_fly_;
  std::deque<Seconds> steps_;
  bool first_ = true;  ///< of the stage
  bool told_ = false;
};

}  // namespace voxcycle
