// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/stage_steps.hpp"

#include "voxcycle/train/trainer.hpp"

#include <filesystem>

#include "../../mpi/train/training_runs.hpp"
#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

class StageStepsOnGpu : public ::testing::Test {
 protected:
  StageStepsOnGpu() {
    at::globalContext().setDeterministicCuDNN(true);
    std::filesystem::remove_all(root_);
    write_data(root_ + "/data");
  }

  TrainOptions options(std::string const& name) const {
    auto options = options_for(root_, name);
    options.device = at::Device(at::kCUDA, 0);
    options.network.smoothing = 0;
    options.loss = "energy_normalised";
    options.dtype = at::kFloat;
    return options;
  }

  at::Tensor values_after(TrainOptions options, bool graph) const {
    options.directory += graph ? "-graph" : "-plain";
    options.graph = graph;
    EXPECT_TRUE(train(options, *comm_).finished);
    return final_values(options);
  }

  std::unique_ptr<Communicator> comm_ = make_self_communicator();
  std::string root_ = scratch(*comm_) + "-graph";
};

TEST_F(StageStepsOnGpu, HaveTheSameBitsWithAndWithoutAGraph) {
  struct Case {
    char const* network;
    char const* optimizer;
    GradientMode reduction;
  };
  for (auto const& [network, optimizer, reduction] :
       {Case{"multigrid", "muon", GradientMode::exact},
        Case{"multigrid", "sgd", GradientMode::fast}, Case{"unet", "adam", GradientMode::exact}}) {
    auto o = options(std::string(network) + optimizer);
    o.network.name = network;
    o.network.depth = 2;
    o.network.base_channels = 8;
    o.reduction = reduction;
    for (auto& level : o.levels) level.optimizer = optimizer;
    auto const plain = values_after(o, false);
    ::testing::internal::CaptureStderr();
    at::Tensor graph;
    EXPECT_NO_THROW(graph = values_after(o, true)) << o.directory;
    auto const log = ::testing::internal::GetCapturedStderr();
    EXPECT_TRUE(graph.defined() && at::equal(plain, graph)) << o.directory;
    EXPECT_THAT(log, testing::Not(testing::HasSubstr("not recorded"))) << o.directory;
  }
}

TEST_F(StageStepsOnGpu, GoOnFromACheckpointWithTheSameBits) {
  auto o = options("resumed");
  auto const plain = values_after(o, false);
  o.directory += "-graph";
  o.graph = true;
  train_in_sessions(o, *comm_, [](TrainOptions& session, int) { session.stop_after_steps = 4; });
  EXPECT_TRUE(at::equal(plain, final_values(o)));
}

TEST_F(StageStepsOnGpu, SkipWhatOverflowsFloat16WithAndWithoutAGraph) {
  auto o = options("float16");
  o.dtype = at::kHalf;
  o.loss_scale = {.first = 0x1p22, .patience = 2};
  o.path = {0};
  o.levels[0].budget.steps = 16;
  o.average_horizon = 0.2;
  auto const plain = values_after(o, false);
  ::testing::internal::CaptureStderr();
  auto const graph = values_after(o, true);
  auto const log = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(at::equal(plain, graph));
  EXPECT_THAT(log, testing::Not(testing::HasSubstr("not recorded")));
  EXPECT_THAT(log, testing::HasSubstr("its step was skipped"));
}

TEST_F(StageStepsOnGpu, AreRecordedForTheDefaultNetworkToo) {
  auto o = options("default");
  o.network.smoothing = 2;
  o.network.coarse = CoarseLevels::black_box;
  o.loss = "energy_multigrid";
  auto const plain = values_after(o, false);
  ::testing::internal::CaptureStderr();
  auto const graph = values_after(o, true);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              testing::Not(testing::HasSubstr("not recorded")));
  EXPECT_TRUE(at::equal(plain, graph));
}

TEST_F(StageStepsOnGpu, RunAsTheyAreWhereThereIsNoGraph) {
  auto o = options("cpu");
  o.device = at::kCPU;
  auto const plain = values_after(o, false);
  ::testing::internal::CaptureStderr();
  auto const graph = values_after(o, true);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              testing::HasSubstr("training steps are not recorded in a CUDA graph: the network is "
                                 "not on a GPU"));
  EXPECT_TRUE(at::equal(plain, graph));
}

TEST_F(StageStepsOnGpu, NameTheSamplesWhoseLossIsNotFinite) {
  auto o = options("bad");
  o.graph = true;
  for (auto& level : o.levels) level.rate = 1e30;
  EXPECT_THAT([&] { train(o, *comm_); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("not finite")));
}

}  // namespace
}  // namespace voxcycle
