// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/run_directory.hpp"

#include "voxcycle/core/error.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "checkpoints.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace run_directory_test {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::string fresh_directory(std::string const& name) {
  auto const path = fs::path(VOXCYCLE_TEST_SCRATCH) / name;
  fs::remove_all(path);
  fs::create_directories(path);
  return path.string();
}

void write_step(std::string const& path, std::int64_t step) {
  write_position(path, {0, step, step, step, 99, 0, 0});
}

/// As a run writes them, one after the other.
std::string run_of(std::string const& name, int steps, int keep) {
  auto directory = fresh_directory(name);
  for (int step = 1; step <= steps; ++step) {
    shift_checkpoints(directory, keep);
    write_step(checkpoint_path(directory), step);
  }
  return directory;
}

std::vector<std::int64_t> steps_in(std::string const& directory) {
  std::vector<std::int64_t> steps{CheckpointReader(checkpoint_path(directory)).header().step};
  for (int age = 1; fs::exists(older_checkpoint_path(directory, age)); ++age) {
    steps.push_back(CheckpointReader(older_checkpoint_path(directory, age)).header().step);
  }
  return steps;
}

/// Flips a bit of the array's position, whose bytes are those of `step`.
void damage(std::string const& path, std::int64_t step) {
  std::ifstream in(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(in), {});
  in.close();
  std::string const wanted(reinterpret_cast<char const*>(&step), sizeof step);
  auto const place = bytes.find(wanted + wanted + wanted);
  ASSERT_NE(place, std::string::npos);
  bytes[place] ^= 64;
  fs::remove(path);  // another generation may be the same file
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(RunDirectory, KeepsAsManyCheckpointsAsAskedFor) {
  EXPECT_THAT(steps_in(run_of("one", 4, 1)), ElementsAre(4));
  EXPECT_THAT(steps_in(run_of("two", 4, 2)), ElementsAre(4, 3));
  auto const directory = run_of("three", 5, 3);
  EXPECT_THAT(steps_in(directory), ElementsAre(5, 4, 3));
  shift_checkpoints(directory, 2);  // another number from now on
  write_step(checkpoint_path(directory), 6);
  EXPECT_THAT(steps_in(directory), ElementsAre(6, 5));
  shift_checkpoints(directory, 1);
  EXPECT_THAT(steps_in(directory), ElementsAre(6));
}

TEST(RunDirectory, ADamagedCheckpointGivesWayToTheOneBefore) {
  auto const directory = run_of("damaged", 5, 3);
  use_sound_checkpoint(directory);
  EXPECT_THAT(steps_in(directory), ElementsAre(5, 4, 3));
  damage(checkpoint_path(directory), 5);
  EXPECT_EQ(readable_header(directory).step, 4);
  use_sound_checkpoint(directory);
  EXPECT_THAT(steps_in(directory), ElementsAre(4, 3));
  EXPECT_TRUE(fs::exists(directory + "/damaged-1.h5"));
  damage(checkpoint_path(directory), 4);
  use_sound_checkpoint(directory);
  EXPECT_THAT(steps_in(directory), ElementsAre(3));
  EXPECT_TRUE(fs::exists(directory + "/damaged-2.h5"));
  damage(checkpoint_path(directory), 3);
  EXPECT_THAT([&] { use_sound_checkpoint(directory); },
              ThrowsMessage<Error>(HasSubstr("checksum does not fit")));
  EXPECT_TRUE(fs::exists(checkpoint_path(directory)));
  use_sound_checkpoint(fresh_directory("empty"));
}

}  // namespace run_directory_test
}  // namespace voxcycle
