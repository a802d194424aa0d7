// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "../../mpi/train/training_runs.hpp"
#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

at::Device const kGpu(at::kCUDA, 0);

/// The largest relative difference of values in the same places.
double difference(std::vector<double> const& a, std::vector<double> const& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0.0;
  for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k) {
    largest = std::max(largest, std::abs(b[k] - a[k]) / std::abs(a[k]));
  }
  return largest;
}

std::vector<double> losses(TrainSummary const& run) {
  std::vector<double> values;
  for (auto const& row : run.rows) {
    if (!std::isnan(row.loss)) values.push_back(row.loss);
  }
  return values;
}

class TrainerOnGpu : public ::testing::Test {
 protected:
  TrainerOnGpu() {
    at::globalContext().setAllowTF32CuDNN(false);
    at::globalContext().setDeterministicCuDNN(true);
    std::filesystem::remove_all(root_);
    write_data(root_ + "/data");
  }

  TrainSummary run(std::string const& name, at::Device device, at::ScalarType dtype,
                   std::string const& optimizer = "muon") const {
    auto options = options_for(root_, name + optimizer + at::toString(dtype));
    for (auto& level : options.levels) {
      level.budget.steps = 25;
      level.optimizer = optimizer;
    }
    options.device = device;
    options.dtype = dtype;
    return train(options, *comm_);
  }

  std::unique_ptr<Communicator> comm_ = make_self_communicator();
  std::string root_ = scratch(*comm_);
};

TEST_F(TrainerOnGpu, ComputesWhatTheCpuDoes) {
  for (auto const* optimizer : {"adam", "muon", "sgd"}) {
    auto const here = run("cpu", at::kCPU, at::kDouble, optimizer);
    auto const there = run("gpu", kGpu, at::kDouble, optimizer);
    EXPECT_LT(difference(losses(here), losses(there)), 1e-9) << optimizer;
    // Held-out errors are those of float32.
    EXPECT_LT(difference(figures(here.rows), figures(there.rows)), 1e-5) << optimizer;
  }
}

/// Not with Adam: it takes a full step along entries of the gradient that are nothing but rounding.
TEST_F(TrainerOnGpu, AgreesWithTheCpuInFloat32) {
  for (auto const* optimizer : {"muon", "sgd"}) {
    auto const here = run("cpu", at::kCPU, at::kFloat, optimizer);
    auto const there = run("gpu", kGpu, at::kFloat, optimizer);
    EXPECT_LT(difference(figures(here.rows), figures(there.rows)), 1e-4) << optimizer;
  }
}

TEST_F(TrainerOnGpu, HasTheSameBitsEveryTime) {
  for (auto dtype : {at::kFloat, at::kBFloat16}) {
    auto const first = figures(run("first", kGpu, dtype).rows);
    EXPECT_EQ(figures(run("second", kGpu, dtype).rows), first);
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
