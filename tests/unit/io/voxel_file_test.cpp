// SPDX-License-Identifier: BSD-3-Clause
#include "io/voxel_file.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/io/checkpoint_file.hpp"

#include <string>
#include <vector>

#include "shard_files.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace voxel_file_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

template <class T>
std::vector<T> counted(std::size_t count) {
  std::vector<T> values;
  for (std::size_t k = 0; k < count; ++k) values.push_back(static_cast<T>(0.1 + double(k)));
  return values;
}

/// An HDF5 file with arrays as users have them, and others.
std::string write_arrays(std::string const& name) {
  ArchiveWriter writer;
  writer.add("mine/single", counted<float>(120), {3, 2, 4, 5});
  writer.add("mine/double", counted<double>(120), {3, 2, 4, 5});
  writer.add("one", counted<double>(40), {2, 4, 5});
  writer.add("flat", counted<float>(6), {2, 3});
  writer.add("none", counted<float>(0), {0, 2, 3, 4});
  writer.add("integers", counted<std::int64_t>(24), {1, 2, 3, 4});
  auto const path = fresh_directory("voxel_file") + "/" + name;
  writer.save(path);
  return path;
}

TEST(VoxelFile, ReadsSamplesOfBothTypes) {
  auto const path = write_arrays("a:b.h5");  // a colon in the name ends nothing
  for (char const* name : {":/mine/single", ":/mine/double"}) {
    VoxelFile const file(path + name);
    EXPECT_EQ(file.samples(), 3);
    EXPECT_EQ(file.grid(), (Grid3{{2, 4, 5}, {1.0, 1.0, 1.0}}));
    for (int sample : {2, 0, 1}) {
      auto const values = file.read(sample, 0, 2);
      ASSERT_EQ(values.size(), 40U);
      for (int k = 0; k < 40; ++k) {
        EXPECT_EQ(values[static_cast<std::size_t>(k)], static_cast<float>(0.1 + 40 * sample + k));
      }
    }
    EXPECT_THAT([&] { file.read(3, 0, 2); }, ThrowsMessage<Error>(HasSubstr("no sample 3")));
    EXPECT_THROW(file.read(-1, 0, 2), Error);
    auto const second_plane = file.read(1, 1, 1);
    ASSERT_EQ(second_plane.size(), 20U);
    EXPECT_EQ(second_plane[3], static_cast<float>(0.1 + 40 + 20 + 3));
    EXPECT_THAT([&] { file.read(0, 1, 2); }, ThrowsMessage<Error>(HasSubstr("no planes 1 to 2")));
    EXPECT_THROW(file.read(0, -1, 1), Error);
    EXPECT_THROW(file.read(0, 0, 0), Error);
  }
}

TEST(VoxelFile, ReadsIntegers) {
  VoxelFile const file(write_arrays("integers.h5") + ":/integers");
  EXPECT_EQ(file.samples(), 1);
  auto const values = file.read(0, 0, 2);
  ASSERT_EQ(values.size(), 24U);
  for (int k = 0; k < 24; ++k) EXPECT_EQ(values[static_cast<std::size_t>(k)], k);
}

TEST(VoxelFile, AnArrayWithoutAnAxisOfSamplesIsOne) {
  VoxelFile const file(write_arrays("one.h5") + ":/one");
  EXPECT_EQ(file.samples(), 1);
  EXPECT_EQ(file.grid().name(), "2x4x5");
  EXPECT_EQ(file.read(0, 0, 2)[39], 39.1F);
  EXPECT_EQ(file.read(0, 1, 1)[19], 39.1F);
}

TEST(VoxelFile, RefusesWhatIsNoVoxelArray) {
  auto const path = write_arrays("bad.h5");
  auto const refuse = [](std::string const& location, std::vector<std::string> const& texts) {
    for (auto const& text : texts) {
      EXPECT_THAT([&] { VoxelFile const file(location); }, ThrowsMessage<Error>(HasSubstr(text)));
    }
  };
  for (std::string const location : {"", "fields.txt", ":/nu", "fields.txt:nu"}) {
    refuse(location, {"'" + location + "'", "PATH:/dataset"});
  }
  refuse("missing.h5:/nu", {"missing.h5", "no such file"});
  refuse(path, {path, "holds the datasets /flat, /integers", "Name one"});
  refuse(path + ":/nu", {path, "/nu", "It holds: /flat, /integers, /mine/double, /mine/single"});
  refuse(path + ":/flat", {path + ":/flat", "[2, 3]", "[samples, nx, ny, nz]"});
  refuse(path + ":/none", {path + ":/none", "[0, 2, 3, 4]"});
  spit(path, "no HDF5");
  refuse(path + ":/nu", {path, "HDF5"});
}

}  // namespace voxel_file_test
}  // namespace voxcycle
