// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/trainer.hpp"

#include <cmath>
#include <filesystem>

#include "../../mpi/train/training_runs.hpp"
#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

at::Device const kGpu(at::kCUDA, 0);

class TrainerOnGpu : public ::testing::Test {
 protected:
  TrainerOnGpu() {
    at::globalContext().setAllowTF32CuDNN(false);
    at::globalContext().setDeterministicCuDNN(true);
    std::filesystem::remove_all(root_);
    write_data(root_ + "/data");
  }

  TrainSummary run(std::string const& name, at::Device device, at::ScalarType dtype) const {
    auto options = options_for(root_, name);
    options.levels[0].budget.steps = options.levels[1].budget.steps = 25;
    options.device = device;
    options.dtype = dtype;
    return train(options, *comm_);
  }

  std::unique_ptr<Communicator> comm_ = make_self_communicator();
  std::string root_ = scratch(*comm_);
};

TEST_F(TrainerOnGpu, AgreesWithTheCpu) {
  auto const here = figures(run("cpu", at::kCPU, at::kFloat).rows);
  auto const there = figures(run("gpu", kGpu, at::kFloat).rows);
  ASSERT_EQ(here.size(), there.size());
  for (std::size_t k = 0; k < here.size(); ++k) {
    EXPECT_NEAR(there[k], here[k], 1e-4 * std::abs(here[k])) << k;
  }
}

TEST_F(TrainerOnGpu, HasTheSameBitsEveryTime) {
  for (auto dtype : {at::kFloat, at::kBFloat16}) {
    auto const type = std::string(at::toString(dtype));
    auto const first = figures(run("first" + type, kGpu, dtype).rows);
    EXPECT_EQ(figures(run("second" + type, kGpu, dtype).rows), first);
  }
}

TEST_F(TrainerOnGpu, SearchesWithLbfgs) {
  auto options = options_for(root_, "lbfgs");
  options.levels[1].optimizer = "lbfgs";
  options.device = kGpu;
  auto const rows = train(options, *comm_).rows;
  double first = NAN;
  double last = NAN;
  for (auto const& row : rows) {
    if (std::isnan(row.search.gradient_norm)) continue;
    if (std::isnan(first)) first = row.loss;
    last = row.loss;
  }
  EXPECT_LT(last, first);
}

TEST_F(TrainerOnGpu, LeavesCheckpointsForTheCpu) {
  auto options = options_for(root_, "moved");
  options.device = kGpu;
  options.stop_after_steps = 4;
  EXPECT_FALSE(train(options, *comm_).finished);
  options.device = at::kCPU;
  options.stop_after_steps = 0;
  EXPECT_TRUE(train(options, *comm_).finished);
}

}  // namespace
}  // namespace voxcycle
