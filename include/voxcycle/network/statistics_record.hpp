// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Mean and 1/sqrt(var + epsilon), float64, on the device of the micro-batches: [1, C] common to
/// all samples, or [n, C] a sample.
struct BatchStatistics {
  at::Tensor mean;
  at::Tensor inverse_std;
};

/// The statistics that the layers of a piece of the network took in its first run, in order, for
/// its second one (recompute.hpp).
class StatisticsRecord {
 public:
  bool replaying() const { return replaying_; }
  void add(std::vector<BatchStatistics> const& moments) { statistics_.push_back(moments); }
  /// From now on the statistics are taken from here.
  void replay() { replaying_ = true; }
  std::vector<BatchStatistics> next() {
    auto moments = std::move(statistics_.front());
    statistics_.pop_front();
    return moments;
  }

 private:
  std::deque<std::vector<BatchStatistics>> statistics_;
  bool replaying_ = false;
};

}  // namespace voxcycle
