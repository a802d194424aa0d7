// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/data_watch.hpp"

#include "voxcycle/core/text.hpp"

namespace voxcycle {

void DataWatch::begin_stage() {
  steps_.clear();
  first_ = true;
}

void DataWatch::add(StepTimes const& times) {
  if (!first_) steps_.push_back({times.data, times.total()});
  first_ = false;
  if (steps_.size() > kSteps) steps_.pop_front();
}

double DataWatch::share() const {
  if (steps_.size() < kSteps) return 0.0;
  Seconds sum{0.0, 0.0};
  for (auto const& step : steps_) {
    sum.waited += step.waited;
    sum.whole += step.whole;
  }
  return sum.whole > 0.0 ? sum.waited / sum.whole : 0.0;
}

std::string DataWatch::warning(double greatest_share) {
  if (told_ || greatest_share <= kToleratedShare) return {};
  told_ = true;
  auto const* problem = made_on_the_fly_
                            ? "making the samples is slower than training). Give it more threads "
                              "(data.workers) where cores are idle, or store the samples: set "
                              "data.on_the_fly = no and run voxcycle generate."
                            : "reading the shards is slower than training). Put data.directory on "
                              "a faster disk, say one of this machine.";
  return format("training waited for data %.0f %% of the last %zu steps' time (%s",
                100.0 * greatest_share, kSteps, problem);
}

}  // namespace voxcycle
