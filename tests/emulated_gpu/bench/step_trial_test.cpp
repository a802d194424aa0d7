// SPDX-License-Identifier: BSD-3-Clause
// How often a training step on a GPU makes the host wait, for every wait lets the GPU run dry, and
// how many kernels it starts, for small ones take longer to start than to run.
#include "voxcycle/bench/step_trial.hpp"

#include "voxcycle/config/options.hpp"
#include "voxcycle/network/network.hpp"

#include "../memory.hpp"
#include <ATen/Context.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

struct Counts {
  std::int64_t host_waits = 0;
  std::int64_t launches = 0;
};

Counts counts() {
  Counts counts{emulated_gpu::host_waits(), 0};
  for (auto const& [name, count] : emulated_gpu::launches()) counts.launches += count;
  return counts;
}

/// Of one step.
Counts counts_of_step(Grid3 const& grid, std::int64_t batch) {
  auto const comm = make_self_communicator();
  auto options = train_options(Config());
  options.network.channels = {{4, 8}, {8, 8}};
  options.device = at::Device(at::kCUDA, 0);
  StepTrial trial(options, grid, {.batch = batch, .optimizer = options.levels.back().optimizer},
                  *comm);
  trial.step();
  auto const before = counts();
  trial.step();
  auto const after = counts();
  return {after.host_waits - before.host_waits, after.launches - before.launches};
}

TEST(StepTrialOnGpu, ConvolutionsAreAsReproducibleAsTheReduction) {
  auto const comm = make_self_communicator();
  auto options = train_options(Config());
  options.network.channels = {{4, 8}, {8, 8}};
  options.device = at::Device(at::kCUDA, 0);
  auto const trial_with = [&](GradientMode reduction) {
    StepTrial::Variant const variant{
        .batch = 2, .optimizer = options.levels.back().optimizer, .reduction = reduction};
    return std::make_unique<StepTrial>(options, Grid3::cube(8), variant, *comm);
  };
  auto const exact = trial_with(GradientMode::exact), fast = trial_with(GradientMode::fast);
  for (int turn = 0; turn < 2; ++turn) {
    exact->step();
    EXPECT_TRUE(at::globalContext().deterministicCuDNN());
    EXPECT_FALSE(at::globalContext().benchmarkCuDNN());
    fast->step();
    EXPECT_FALSE(at::globalContext().deterministicCuDNN());
    EXPECT_TRUE(at::globalContext().benchmarkCuDNN());
  }
}

TEST(StepTrialOnGpu, TheHostSeldomWaits) {
  for (std::int64_t batch : {2, 8}) {
    std::int64_t const micro_batches = batch / TrainOptions().micro_batch_size;
    auto const step = counts_of_step(Grid3::cube(8), batch);
    // A micro-batch: the coarsest matrices of its nested levels and of its loss. A step: the loss,
    // and exponents of the gradient.
    EXPECT_LE(step.host_waits, 2 * micro_batches + 2) << "samples: " << batch;
    // Found: 245 and 533 a micro-batch. A kernel more for each norm of a micro-batch shows.
    EXPECT_LE(step.launches, 250 + 537 * micro_batches) << "samples: " << batch;
  }
}

}  // namespace
}  // namespace voxcycle
