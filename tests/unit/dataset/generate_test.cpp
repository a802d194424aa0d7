// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/dataset/generate.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/io/shard.hpp"

#include <cmath>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace generate_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

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
            fresh_samples(options, options.grids[0])->read(4, ReadReference::no, {}).nu);
}

ShardSet held_out(DatasetOptions const& options, Grid3 const& grid) {
  return ShardSet(shard_directory(options.directory, "held_out", grid));
}

// Residuals of 1e-10 leave some times as much in u.
constexpr double solved = 1e-9;

TEST(Generate, SolvesTheFirstHeldOutSampleBothWays) {
  auto options = small_set("multigrid"), by_fft = small_set("fft");
  by_fft.reference = SolveMethod::fft;
  for (char const* const family : {"kl", "grf"}) {
    options.family.name = by_fft.family.name = family;
    for (auto const& set : {options, by_fft}) {
      std::filesystem::remove_all(set.directory);
      EXPECT_TRUE(make(set).complete);
    }
    for (Grid3 const& grid : options.grids) {
      auto set = held_out(options, grid), other = held_out(by_fft, grid);
      EXPECT_EQ(set.info().reference_solver, "multigrid");
      EXPECT_EQ(other.info().reference_solver, "fft");
      auto const u = set.read(0).u_ref, v = other.read(0).u_ref;
      double square = 0.0, norm = 0.0;
      for (std::size_t k = 0; k < u.size(); ++k) {
        square += (u[k] - v[k]) * (u[k] - v[k]);
        norm += u[k] * u[k];
      }
      double const difference = set.info().reference_difference.value_or(-1.0);
      EXPECT_DOUBLE_EQ(difference, std::sqrt(square / norm)) << family << ' ' << grid.name();
      EXPECT_GT(difference, 0.0);
      EXPECT_LT(difference, solved);
      EXPECT_NEAR(other.info().reference_difference.value_or(-1.0), difference, 1e-3 * difference);
    }
  }
  // They are as good as each other: none is made anew.
  options.reference = SolveMethod::fft;
  EXPECT_EQ(make(options).made, 0);
}

TEST(Generate, ComparesWhereThatCostsLittle) {
  auto options = small_set("rough");
  options.on_the_fly = true;
  options.family.name = "inclusions";
  options.family.inclusions.contrast = 1e6;
  options.grids = {Grid3::cube(32)};  // 200 iterations are too few
  options.held_out_samples = {1};
  EXPECT_TRUE(make(options).complete);
  EXPECT_FALSE(held_out(options, options.grids[0]).info().reference_difference);
}

TEST(Generate, FftIsForCpus) {
  auto options = small_set("device");
  options.reference = SolveMethod::fft;
  auto const comm = make_self_communicator();
  EXPECT_THAT([&] { (void)generate_shards(options, *comm, at::Device(at::kCUDA, 0), 0); },
              ThrowsMessage<Error>(HasSubstr("Set run.device = cpu, or")));
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

}  // namespace generate_test
}  // namespace voxcycle
