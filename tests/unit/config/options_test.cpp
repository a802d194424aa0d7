// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/config/options.hpp"

#include <gtest/gtest.h>

namespace voxcycle {
namespace {

TEST(Options, OfAnEmptyConfigAreTheDefaultsOfTraining) {
  // Without what has no default of its own: grids, the path over them, and the numbers that a
  // checkpoint is known by.
  auto options = train_options(Config{});
  for (auto const& level : options.levels) EXPECT_EQ(level, LevelPlan{.grid = level.grid});
  options.levels.clear();
  options.path.clear();
  options.fingerprint = {};
  options.network.cycle_levels.clear();
  EXPECT_EQ(options.network, NetworkOptions{});
  EXPECT_EQ(options.optimizer, OptimizerOptions{});
  EXPECT_EQ(OptimizerOptions{}.name, LevelPlan{}.optimizer);
  EXPECT_EQ(options.lbfgs, LbfgsStageOptions{});
  EXPECT_TRUE(options == TrainOptions{});
}

TEST(Options, OfAnEmptyConfigAreTheDefaultsOfSamples) {
  auto options = dataset_options(Config{});
  options.grids.clear();
  EXPECT_TRUE(options.family == FamilyOptions{});
  EXPECT_TRUE(options == DatasetOptions{});
}

TEST(Options, OfAnEmptyConfigAreTheDefaultsOfDevices) {
  EXPECT_TRUE(device_options(Config{}) == DeviceOptions{});
}

TEST(Options, DifferFromTheDefaultsWhereTheConfigSaysSo) {
  Config config;
  config.set("train.average_horizon", "0.1");
  config.set("data.contrast", "2");
  config.set("train.precision", "f32");
  EXPECT_EQ(train_options(config).average_horizon, 0.1);
  EXPECT_FALSE(dataset_options(config) == DatasetOptions{});
  EXPECT_FALSE(device_options(config) == DeviceOptions{});
}

}  // namespace
}  // namespace voxcycle
