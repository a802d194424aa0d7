// SPDX-License-Identifier: BSD-3-Clause
// How often a training step on a GPU makes the host wait, for every wait lets the GPU run dry, and
// how many kernels it starts, for small ones take longer to start than to run.
#include "voxcycle/bench/step_trial.hpp"

#include "voxcycle/config/options.hpp"
#include "voxcycle/network/network.hpp"
#include "voxcycle/poisson/multigrid.hpp"

#include "../memory.hpp"
#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

struct Counts {
  std::int64_t host_waits = 0;
  std::int64_t launches = 0;  ///< graphs too
  std::int64_t graphs = 0;
};

Counts counts() {
  Counts counts{emulated_gpu::host_waits(), 0, 0};
  for (auto const& [name, count] : emulated_gpu::launches()) counts.launches += count;
  if (auto const launches = emulated_gpu::launches(); launches.contains("graph"))
    counts.graphs = launches.at("graph");
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
  return {after.host_waits - before.host_waits, after.launches - before.launches, 0};
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
    // Found: 340 and 537 a micro-batch. A kernel more for each norm of a micro-batch shows.
    EXPECT_LE(step.launches, 346 + 537 * micro_batches) << "samples: " << batch;
  }
}

TEST(MultigridOnGpu, AGraphIsOneLaunch) {
  for (std::int64_t n : {16, 64}) {
    Grid3 const grid = Grid3::cube(n);
    at::TensorOptions const gpu = at::device(at::Device(at::kCUDA, 0));
    Multigrid const multigrid(grid, Boundary{}, at::ones(grid.voxel_shape(), gpu),
                              {.dtype = at::kFloat, .graph = true});
    at::Tensor const b = at::ones(grid.node_shape(), gpu);
    for (int time = 0; time < 2; ++time) multigrid.full_cycle(b);  // the second records
    auto const before = counts();
    multigrid.full_cycle(b);
    auto const after = counts();
    EXPECT_EQ(after.graphs - before.graphs, 1);
    EXPECT_LE(after.launches - before.launches, 3);  // in, out
    EXPECT_EQ(after.host_waits, before.host_waits);
  }
}

TEST(StepTrialOnGpu, AGraphIsOneLaunch) {
  auto const comm = make_self_communicator();
  auto options = train_options(Config());
  options.device = at::Device(at::kCUDA, 0);
  options.graph = true;
  options.dtype = at::kFloat;
  options.loss = "energy_normalised";
  options.network.smoothing = 0;
  for (auto const* network : {"unet", "multigrid"}) {
    options.network.name = network;
    options.network.base_channels = 4;
    options.network.coarse = CoarseLevels::averaged;
    options.network.channels = {{4, 8}, {8, 8}, {16, 8}};
    for (std::int64_t n : {8, 16}) {
      StepTrial trial(options, Grid3::cube(n), {.batch = 8, .optimizer = "adam"}, *comm);
      for (int step = 0; step < 3; ++step) trial.step();  // the third records
      auto const before = counts();
      trial.step();
      auto const after = counts();
      EXPECT_EQ(after.graphs - before.graphs, 1) << network;
      // Fields, numbers, what was found.
      EXPECT_LE(after.launches - before.launches, 4) << network << " " << n;
      EXPECT_LE(after.host_waits - before.host_waits, 1) << network << " " << n;
    }
  }
}

}  // namespace
}  // namespace voxcycle
