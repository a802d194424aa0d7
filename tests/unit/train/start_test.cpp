// SPDX-License-Identifier: BSD-3-Clause
#include "train/start.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/train/parameter_groups.hpp"

#include <filesystem>
#include <string>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace start_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TrainOptions options_with(std::map<std::int64_t, std::int64_t> const& channels) {
  TrainOptions options;
  options.start = "there";
  options.network.channels = channels;
  options.network.coarse = CoarseLevels::averaged;
  for (auto const& [n, width] : channels) {
    options.path.push_back(static_cast<int>(options.levels.size()));
    options.levels.push_back({.grid = Grid3::cube(n)});
  }
  return options;
}

std::shared_ptr<Network> network_of(TrainOptions const& options) {
  return make_network(options.network, options.boundary, options.source);
}

/// A finished run's checkpoint with random weights.
CheckpointReader run_with(TrainOptions const& options, std::string const& kind = "multigrid") {
  std::filesystem::create_directories(VOXCYCLE_TEST_SCRATCH);
  std::string const path = std::string(VOXCYCLE_TEST_SCRATCH) + "/start.h5";
  auto const network = network_of(options);
  at::NoGradGuard const no_grad;
  for (auto const& p : network->parameters()) p.copy_(at::randn(p.sizes()));
  CheckpointHeader header;
  header.fingerprint.set("network.name", kind);
  header.finished = true;
  write_checkpoint(path, header, *network, *network, {}, {});
  return CheckpointReader(path);
}

at::Tensor named(Network const& network, std::string const& wanted) {
  for (auto const& [name, values] : network.named_parameters()) {
    if (name == wanted) return values;
  }
  throw Error("no " + wanted);
}

TEST(Start, TakesLevelsThatAreThere) {
  auto const start = run_with(options_with({{8, 6}, {16, 5}}));
  auto const options = options_with({{4, 4}, {8, 6}, {16, 5}, {32, 3}});
  auto const network = network_of(options), average = network_of(options),
             fresh = network_of(options);
  EXPECT_THAT(begin_with(start, options, *network, *average), ElementsAre(8, 16));
  for (std::string const name : {"level8.enc.conv1.weight", "level16.dec.conv2.weight"}) {
    EXPECT_TRUE(at::equal(named(*network, name), *start.find("network/" + name))) << name;
    EXPECT_TRUE(at::equal(named(*average, name), *start.find("average/" + name))) << name;
  }
  // Grid 8 was the coarsest there: what leads to a coarser one is as it was made.
  for (std::string const name : {"level4.stem.weight", "level8.up.weight", "level32.up.weight"}) {
    EXPECT_TRUE(at::equal(named(*network, name), named(*fresh, name))) << name;
  }
  auto frozen = options;
  for (std::int64_t const level : {8, 32}) {
    frozen.freeze = {level};
    EXPECT_THAT(
        [&] { begin_with(start, frozen, *network, *average); },
        ThrowsMessage<Error>(HasSubstr("train.freeze names grid " + std::to_string(level))));
  }
}

TEST(Start, WeightsOfTheSourceBeginAtZeroOrAreLeftOut) {
  auto const without = options_with({{4, 4}, {8, 6}});
  auto with = without;
  with.network.inputs = 2;
  with.source.kind = SourceKind::sampled;
  std::string const name = "level8.stem.weight";
  auto const plain = run_with(without);
  auto network = network_of(with), average = network_of(with);
  EXPECT_THAT(begin_with(plain, with, *network, *average), ElementsAre(4, 8));
  at::Tensor weight = named(*network, name);
  EXPECT_TRUE(at::equal(weight.narrow(1, 0, 1), *plain.find("network/" + name)));
  EXPECT_EQ(weight.narrow(1, 1, 1).abs().max().item<double>(), 0.0);

  auto const sourced = run_with(with);
  network = network_of(without), average = network_of(without);
  begin_with(sourced, without, *network, *average);
  EXPECT_TRUE(at::equal(named(*network, name), sourced.find("network/" + name)->narrow(1, 0, 1)));
}

TEST(Start, RefusesOtherNetworks) {
  auto const options = options_with({{4, 4}, {8, 6}});
  auto const refuses = [&](CheckpointReader const& start, std::string const& why) {
    auto const network = network_of(options), average = network_of(options);
    EXPECT_THAT([&] { begin_with(start, options, *network, *average); },
                ThrowsMessage<Error>(HasSubstr(why)));
  };
  refuses(run_with(options_with({{4, 4}, {8, 7}})), "network of other sizes (level8.");
  refuses(run_with(options_with({{16, 4}, {32, 6}})), "weights of none of this network's levels");
  refuses(run_with(options, "unet"), "Set network.name = unet");
}

TEST(Freeze, NamesTheGridsThatThereAre) {
  auto options = options_with({{4, 4}, {8, 6}});
  auto const refuses = [&](std::vector<std::int64_t> const& levels, std::string const& why) {
    options.freeze = levels;
    EXPECT_THAT([&] { freeze(*network_of(options), options); },
                ThrowsMessage<Error>(HasSubstr(why)));
  };
  refuses({16}, "no weights of grid 16 alone (they belong to 4, 8)");
  refuses({4, 8}, "leaves nothing to train at 4^3");
  options.path = {1};
  refuses({8, 4}, "leaves nothing to train at 8^3");
  options.start.clear();
  refuses({4}, "Name the run to begin with");
  options.start = "there";
  options.network.name = "unet";
  options.network.depth = 1;
  refuses({4}, "they belong to 8");
  refuses({8}, "leaves nothing to train");
}

TEST(Freeze, TakesALevelOutOfTheGroups) {
  auto options = options_with({{4, 4}, {8, 6}});
  options.path = {1};
  options.freeze = {4};
  auto const network = network_of(options);
  auto const before = value_count(parameter_groups(*network, Grid3::cube(8)));
  auto const coarse = value_count(parameter_groups(*network, Grid3::cube(4)));
  freeze(*network, options);
  EXPECT_GT(coarse, 0);
  EXPECT_EQ(value_count(parameter_groups(*network, Grid3::cube(8))), before - coarse);
}

}  // namespace start_test
}  // namespace voxcycle
