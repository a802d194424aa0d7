// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/loss_scale.hpp"

#include "voxcycle/core/error.hpp"

#include "training_runs.hpp"
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace loss_scale_test {

using LossScaleTest = TrainingOnRanks;

/// Float16 whose scale falls, by steps that are skipped, and rises again.
TrainOptions with_steep_scale(TrainOptions options) {
  options.dtype = at::kHalf;
  options.loss_scale = {.first = 0x1p40, .patience = 2};
  options.levels[0].budget.steps = 36;
  options.levels[0].evaluations = 1;
  return options;
}

TEST_F(LossScaleTest, StepsThatOverflowAreSkippedByAllRanksAlike) {
  auto together = with_steep_scale(options_for(root_, "overflow"));
  auto alone = with_steep_scale(options_for(root_, "overflow-" + std::to_string(comm_->rank())));
  std::vector<at::Tensor> moved;  // weights after each step
  together.after_step = [&](StepView const& view) {
    if (view.stage > 0) return;
    std::vector<at::Tensor> all;
    for (auto const& p : view.network.parameters()) all.push_back(p.detach().flatten());
    moved.push_back(at::cat(all));
  };
  testing::internal::CaptureStderr();
  train(together, *comm_);
  auto const log = testing::internal::GetCapturedStderr();
  comm_->barrier();
  train(alone, *self_);
  EXPECT_TRUE(at::equal(final_values(together), final_values(alone)));
  EXPECT_TRUE(at::equal(moved.at(0), moved.at(1))) << "a skipped step";
  EXPECT_FALSE(at::equal(moved.at(34), moved.at(32))) << "one of them is none";
  EXPECT_TRUE(moved.back().isfinite().all().item<bool>());
  if (comm_->rank() > 0) return;
  EXPECT_THAT(log, ::testing::HasSubstr("loss scale 5.49756e+11: a gradient exceeded float16"));
  EXPECT_THAT(log, ::testing::HasSubstr("no gradient exceeded float16 in 2 steps"));
}

TEST_F(LossScaleTest, LossScalesGoOnWithTheSameBits) {
  auto whole = with_steep_scale(options_for(root_, "scaled-" + std::to_string(comm_->rank())));
  auto parted = with_steep_scale(options_for(root_, "scaled-in-parts"));
  train(whole, *self_);
  train_in_sessions(parted, *comm_, [](auto& options, int) { options.stop_after_steps = 9; });
  EXPECT_TRUE(at::equal(final_values(parted), final_values(whole)));
}

}  // namespace loss_scale_test
}  // namespace voxcycle
