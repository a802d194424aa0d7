// SPDX-License-Identifier: BSD-3-Clause
// How often a training step on a GPU makes the host wait: every wait lets the GPU run dry.
#include "../../../src/cli/step_trial.hpp"

#include "voxcycle/train/frame.hpp"

#include "../../../src/cli/options.hpp"
#include "../memory.hpp"
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

/// By the host, of one step.
std::int64_t reads_of_step(Grid3 const& grid, std::int64_t batch) {
  auto const comm = make_self_communicator();
  auto options = train_options(Config());
  options.network.channels = {{4, 8}, {8, 8}};
  options.device = at::Device(at::kCUDA, 0);
  StepTrial trial(options, grid, {.batch = batch, .optimizer = options.optimizer.name}, *comm);
  trial.step();
  auto const before = emulated_gpu::host_reads();
  trial.step();
  return emulated_gpu::host_reads() - before;
}

TEST(StepTrialOnGpu, TheHostSeldomWaits) {
  for (std::int64_t batch : {2, 8}) {
    std::int64_t const reads = reads_of_step(Grid3::cube(8), batch);
    std::int64_t const units = batch / TrainOptions().unit_size;
    // A unit: its coarsest matrix in the loss. A step: the loss, and exponents of the gradient.
    EXPECT_LE(reads, units + 2) << "samples: " << batch;
  }
}

}  // namespace
}  // namespace voxcycle
