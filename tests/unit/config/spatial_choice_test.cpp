// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/config/spatial_choice.hpp"

#include "voxcycle/comm/rehearsed_communicator.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/error.hpp"

#include <string>
#include <utility>
#include <vector>

#include "config_text.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace spatial_choice_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::int64_t kGib = std::int64_t{1} << 30;

Config fine(std::vector<std::pair<std::string, std::string>> const& more = {}) {
  Config config = config_of(
      "[run]\nspatial_processes = auto\n[cycle]\nlevels = 32, 64\nsteps = 4\n"
      "batch = 4\n[train]\nmicro_batch_size = 1\n");
  for (auto const& [key, value] : more) config.set(key, value);
  return config;
}

std::vector<int> processes_of(std::vector<SpatialChoice> const& choices) {
  std::vector<int> processes;
  for (auto const& choice : choices) processes.push_back(choice.processes);
  return processes;
}

int best_of(Config const& config, int processes) {
  RehearsedCommunicator const comm(processes);
  return best_choice(spatial_choices(config, comm, {}), 0).processes;
}

TEST(SpatialChoice, TakesTheFewestPlanesOfThoseThatFit) {
  std::vector<SpatialChoice> const choices{
      {1, 9 * kGib, 64.0}, {2, 5 * kGib, 66.0}, {4, 3 * kGib, 72.0}};
  EXPECT_EQ(best_choice(choices, 0).processes, 1) << "where nothing is known";
  EXPECT_EQ(best_choice(choices, 9 * kGib).processes, 1);
  EXPECT_EQ(best_choice(choices, 8 * kGib).processes, 2);
  EXPECT_EQ(best_choice(choices, 4 * kGib).processes, 4);
  EXPECT_EQ(best_choice(choices, 2 * kGib).processes, 4) << "which lacks least";
}

TEST(SpatialChoice, SaysWhy) {
  std::vector<SpatialChoice> const choices{
      {1, 9 * kGib, 64.0}, {2, 5 * kGib, 60.0}, {4, 3 * kGib, 72.0}};
  EXPECT_EQ(
      explain_choice(choices, 8 * kGib),
      "2 processes per sample, 5.0 GiB a process (1 does not fit: 9.0 GiB of 8.0 GiB; 4 would "
      "take about 1.2 times as long)");
  EXPECT_EQ(explain_choice({choices[0]}, 0), "1 process per sample, 9.0 GiB a process");
}

/// Groups without a sample have nothing to do; with one each, slabs only cost their neighbours'
/// planes.
TEST(SpatialChoice, KeepsAllProcessesAtWork) {
  EXPECT_EQ(best_of(fine(), 1), 1);
  EXPECT_EQ(best_of(fine(), 4), 1) << "a sample each";
  EXPECT_EQ(best_of(fine(), 8), 2) << "four groups, a sample each";
  EXPECT_EQ(best_of(fine({{"cycle.batch", "1"}}), 4), 4);
  EXPECT_EQ(best_of(fine({{"cycle.batch", "1"}, {"cycle.batch_is", "per_process"}}), 4), 1)
      << "grows";
}

TEST(SpatialChoice, KnowsWhatCanBeSharedOut) {
  RehearsedCommunicator const six(6);
  auto const choices = [&](std::vector<std::pair<std::string, std::string>> const& more) {
    return processes_of(spatial_choices(fine(more), six, {}));
  };
  EXPECT_THAT(choices({}), ElementsAre(1, 2, 3, 6));
  EXPECT_THAT(choices({{"run.spatial_parts", "2"}}), ElementsAre(1, 2));
  EXPECT_THAT(choices({{"run.spatial_above", "64"}}), ElementsAre(1));
  EXPECT_THAT(choices({{"network.name", "unet"}, {"network.base_channels", "4"}}), ElementsAre(1));
}

TEST(SpatialChoice, MoreProcessesHoldLess) {
  RehearsedCommunicator const four(4);
  auto const choices =
      spatial_choices(fine({{"cycle.batch", "1"}, {"data.held_out_samples", "1"}}), four, {});
  ASSERT_THAT(processes_of(choices), ElementsAre(1, 2, 4));
  EXPECT_LT(choices[1].bytes, choices[0].bytes);
  EXPECT_LT(choices[2].bytes, choices[1].bytes);
}

TEST(SpatialChoice, StandsInTheConfigThen) {
  RehearsedCommunicator const four(4);
  auto const config = with_spatial_processes(fine({{"cycle.batch", "2"}}), four, 0);
  EXPECT_EQ(config.text("run.spatial_processes"), "2");
  EXPECT_EQ(with_spatial_processes(config, RehearsedCommunicator(8), 0).dump(), config.dump());
  EXPECT_THAT([] { train_options(fine()); },
              ThrowsMessage<Error>(HasSubstr("run.spatial_processes = auto is for train")));
  auto const at_once = fine({{"ensemble.members", "2"}, {"ensemble.at_once", "2"}});
  EXPECT_THAT([&] { with_spatial_processes(at_once, four, 0); },
              ThrowsMessage<Error>(HasSubstr("set ensemble.at_once = 1")));
}

}  // namespace spatial_choice_test
}  // namespace voxcycle
