// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/config/options.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/usage_error.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace voxcycle {
namespace options_test {

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

TEST(Options, ASolverOfReferencesIsOneOfTwo) {
  Config config;
  config.set("data.reference", "fft");
  EXPECT_EQ(dataset_options(config).reference, SolveMethod::fft);
  EXPECT_TRUE(config.fingerprint().entries() == Config{}.fingerprint().entries());
  config.set("data.reference", "direct");
  EXPECT_THROW(dataset_options(config), Error);
}

TEST(Options, CountsHaveBounds) {
  for (std::string const key :
       {"data.train_samples", "data.held_out_samples", "data.shard_samples", "cycle.steps",
        "cycle.batch", "cycle.evaluations", "lbfgs.samples", "lbfgs.batch", "run.spatial_above"}) {
    Config config;
    config.set(key, "10000000");
    EXPECT_NO_THROW(train_options(config)) << key;
    config.set(key, "99999999999");
    EXPECT_THROW(train_options(config), UsageError) << key;
  }
}

TEST(Options, OfAnEmptyConfigAreTheDefaultsOfDevices) {
  EXPECT_TRUE(device_options(Config{}) == DeviceOptions{});
}

TEST(Options, OfLogsAreInTheRunDirectoryUnlessTheConfigSaysWhere) {
  Config config;
  config.set("run.directory", "here");
  EXPECT_EQ(log_options(config).file, "here/log.txt");
  EXPECT_EQ(log_options(config).mode, LogMode::master);
  config.set("log.mode", "workers");
  config.set("log.file", "logs/run.log");
  EXPECT_EQ(log_options(config).file, "logs/run.log");
  EXPECT_EQ(log_options(config).mode, LogMode::workers);
}

/// 2^3 values, as numpy's tofile writes them.
std::string write_source(std::string const& name, float last) {
  std::filesystem::create_directories(VOXCYCLE_TEST_SCRATCH);
  auto const path = std::string(VOXCYCLE_TEST_SCRATCH) + "/" + name;
  float const values[8] = {1, 2, 3, 4, 5, 6, 7, last};
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<char const*>(values), sizeof values);
  return path + ":2,2,2:float32";
}

TEST(Options, ASourceInAFileIsPartOfTheRunByItsContent) {
  auto const fingerprint_with = [](std::string const& source) {
    Config config;
    config.set("problem.source", source);
    EXPECT_EQ(network_options(config).inputs, 2);
    return train_options(config).fingerprint;
  };
  auto const one = fingerprint_with(write_source("one", 8)),
             same = fingerprint_with(write_source("same", 8)),
             other = fingerprint_with(write_source("other", 9));
  EXPECT_FALSE(first_difference(one, same));
  EXPECT_EQ(first_difference(one, other)->key, "problem.source");
  // What a checkpoint says of it, from which a model is made again.
  EXPECT_FALSE(first_difference(one, fingerprint_with(*one.value("problem.source"))));
  Config config;
  config.set("problem.source", write_source("one", 8));
  EXPECT_EQ(file_source_values(source_of(config), Grid3::cube(1)), std::vector<float>{4.5F});
  config.set("problem.source", "nowhere.npy");
  EXPECT_THROW(source_of(config), Error);
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

TEST(Options, BatchesPerProcessGrowWithTheProcesses) {
  Config config;
  config.set("cycle.levels", "16, 32, 64");
  config.set("cycle.batch", "8, 4, 3");
  EXPECT_EQ(with_global_batches(config, 6).dump(), config.dump());
  config.set("cycle.batch_is", "per_process");
  Config const global = with_global_batches(config, 6);
  EXPECT_EQ(global.text("cycle.batch"), "48, 24, 18");
  EXPECT_EQ(with_global_batches(global, 6).text("cycle.batch"), "48, 24, 18") << "grown twice";
  // Two processes work on each sample of grids that are shared out: there are three groups.
  config.set("run.spatial_processes", "2");
  config.set("run.spatial_above", "32");
  EXPECT_EQ(with_global_batches(config, 6).text("cycle.batch"), "48, 24, 9");
}

TEST(Options, ARunIsKnownByItsGlobalBatches) {
  Config config;
  config.set("cycle.batch", "4");
  config.set("cycle.batch_is", "per_process");
  auto const fingerprint = [&](std::int64_t processes) {
    return train_options(with_global_batches(config, processes)).fingerprint;
  };
  Config same;
  same.set("cycle.batch", "8");
  EXPECT_FALSE(first_difference(fingerprint(2), train_options(same).fingerprint));
  EXPECT_EQ(first_difference(fingerprint(2), fingerprint(3))->key, "cycle.batch");
}

}  // namespace options_test
}  // namespace voxcycle
