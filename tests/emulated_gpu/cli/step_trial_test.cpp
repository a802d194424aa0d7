// SPDX-License-Identifier: BSD-3-Clause
// How often a training step on a GPU makes the host wait: every wait lets the GPU run dry.
#include "../../../src/cli/step_trial.hpp"

#include "voxcycle/network/norm_act.hpp"
#include "voxcycle/train/frame.hpp"

#include "../../../src/cli/options.hpp"
#include "../memory.hpp"
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

struct Count {
  std::int64_t norms = 0;  ///< layers
  std::int64_t reads = 0;  ///< by the host, of one step
};

Count reads_of_step(Grid3 const& grid, std::int64_t batch) {
  auto const comm = make_self_communicator();
  auto options = train_options(Config());
  options.network.channels = {{4, 8}, {8, 8}};
  options.device = at::Device(at::kCUDA, 0);
  StepTrial trial(options, grid, {.batch = batch, .optimizer = options.optimizer.name}, *comm);
  trial.step();
  auto const before = emulated_gpu::host_reads();
  trial.step();
  Count count;
  count.reads = emulated_gpu::host_reads() - before;
  auto const network = make_network(options.network, options.boundary, options.source);
  for (auto const& module : network->modules()) {
    if (module->as<NormAct>() != nullptr) ++count.norms;
  }
  return count;
}

TEST(StepTrialOnGpu, TheHostSeldomWaits) {
  for (std::int64_t batch : {2, 8}) {
    auto const count = reads_of_step(Grid3::cube(8), batch);
    std::int64_t const units = batch / TrainOptions().unit_size;
    // A norm: sums, weights and running statistics, then sums of the slopes. A unit: its coarsest
    // matrix in the loss. A step: exponents of the gradient, and the loss.
    EXPECT_GT(count.norms, 0);
    EXPECT_LE(count.reads, 4 * count.norms + units + 2) << "samples: " << batch;
  }
}

}  // namespace
}  // namespace voxcycle
