// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/dataset/generate.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/io/shard.hpp"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

DatasetOptions small_set(std::string const& name) {
  std::string const directory = std::string(VOXCYCLE_TEST_SCRATCH) + "/" + name;
  std::filesystem::remove_all(directory);
  return {.directory = directory,
          .grids = {Grid3::cube(4), Grid3::cube(8)},
          .train_samples = {5, 3},
          .held_out_samples = {2},
          .shard_samples = {2}};
}

GenerateResult make(DatasetOptions const& options) {
  auto const comm = make_self_communicator();
  return generate_shards(options, *comm, at::kCPU, 0);
}

TEST(Generate, MakesWhatIsMissing) {
  auto options = small_set("whole");
  auto const first = make(options);
  EXPECT_TRUE(first.complete);
  EXPECT_EQ(first.made, 3 + 1 + 2 + 1);
  EXPECT_EQ(make(options).made, 0);
  std::filesystem::remove_all(shard_directory(options.directory, "train", options.grids[1]));
  EXPECT_THROW(require_training_shards(options, options.grids), Error);
  EXPECT_EQ(make(options).made, 2);
  require_training_shards(options, options.grids);

  ShardSet held_out(shard_directory(options.directory, "held_out", options.grids[0]));
  EXPECT_EQ(held_out.samples(), 2);
  EXPECT_EQ(held_out.read(1).u_ref.size(), 5U * 5U * 5U);
  ShardSet train(shard_directory(options.directory, "train", options.grids[0]));
  EXPECT_EQ(train.samples(), 5);
  EXPECT_EQ(train.read(4).nu,
            fresh_samples(options, options.grids[0])->read(4, ReadReference::no).nu);
}

TEST(Generate, RefusesADirectoryWithOtherData) {
  auto options = small_set("other");
  EXPECT_TRUE(make(options).complete);
  options.seed = 2;
  EXPECT_THAT([&] { make(options); }, ThrowsMessage<Error>(HasSubstr("seed 1 there, 2")));
}

TEST(Generate, NumbersAreOneOrOnePerLevel) {
  auto options = small_set("numbers");
  options.shard_samples = {2, 2, 2};
  EXPECT_THAT([&] { make(options); },
              ThrowsMessage<Error>(HasSubstr("data.shard_samples has 3 entries for 2 levels")));
}

}  // namespace
}  // namespace voxcycle
