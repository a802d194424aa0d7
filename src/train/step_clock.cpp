// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/step_clock.hpp"

#include <algorithm>

namespace voxcycle {

void StepClock::begin_stage(std::int64_t voxels) {
  if (mean_ > 0.0) earlier_[voxels_] = mean_;
  voxels_ = voxels;
  mean_ = 0.0;
}

void StepClock::add(double seconds, std::int64_t voxels) {
  voxels_ = std::max(voxels_, voxels);
  mean_ += (mean_ == 0.0 ? 1.0 : kNewestWeight) * (seconds - mean_);
}

double StepClock::expected() const {
  if (mean_ > 0.0 || earlier_.empty()) return mean_;
  auto known = earlier_.upper_bound(voxels_);
  if (known != earlier_.begin()) --known;
  return known->second * static_cast<double>(voxels_) / static_cast<double>(known->first);
}

}  // namespace voxcycle
