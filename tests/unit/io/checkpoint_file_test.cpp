// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/io/checkpoint_file.hpp"

#include "voxcycle/core/error.hpp"

#include <array>
#include <atomic>
#include <exception>
#include <limits>
#include <numeric>
#include <thread>

#include "io/hdf5.hpp"
#include "shard_files.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// HDF5 1.10 itself leaks what it read of damaged metadata; asked for by LeakSanitizer.
extern "C" char const* __lsan_default_suppressions() {
  return "leak:libhdf5";
}

namespace voxcycle {
namespace checkpoint_file_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<float> const kWeight = {1.0F, -2.5F, 3.25F, 0.0F, -0.0F, 1e-42F};
std::vector<double> const kState = {1.0 / 3};
std::vector<std::int64_t> const kSteps = {7, std::numeric_limits<std::int64_t>::min()};

ArchiveWriter sample_archive() {
  ArchiveWriter writer;
  writer.add("network/level_4/weight", kWeight, {2, 3, 1});
  writer.add("optimiser/rate", kState, {});
  writer.add("steps", kSteps, {2});
  writer.add("optimiser/empty", std::vector<float>{}, {0, 5});
  writer.add_text("config", "[train]\nseed = 1\n");
  writer.add_text("note", "");
  return writer;
}

std::string archive_at(std::string const& name) {
  std::string const path = fresh_directory(name) + "/a.h5";
  sample_archive().save(path);
  return path;
}

auto throws(std::string const& where, std::string const& text) {
  return ThrowsMessage<Error>(AllOf(HasSubstr(where), HasSubstr(text)));
}

TEST(CheckpointFile, IsWrittenWhileAnotherThreadReads) {
  // With an HDF5 that is not thread-safe this ends in errors or a crash unless threads take turns.
  std::string const path = archive_at("threads");
  std::string const foreign = path + ".foreign";
  spit(foreign, "no HDF5");
  std::atomic<bool> written = false;
  std::thread reader([&] {
    do {
      try {
        ArchiveReader const archive(path);
        EXPECT_EQ(archive.read_float("network/level_4/weight"), kWeight);
      } catch (std::exception const& error) {
        ADD_FAILURE() << error.what();
      }
    } while (!written);
  });
  for (int round = 0; round < 30; ++round) {
    EXPECT_NO_THROW(sample_archive().save(path + ".other"));
    EXPECT_THAT([&] { ArchiveReader const archive(foreign); }, throws(foreign, "(HDF5: "));
  }
  written = true;
  reader.join();
}

TEST(CheckpointFile, ReadsWhatWasWritten) {
  ArchiveReader const reader(archive_at("round_trip"));
  EXPECT_THAT(reader.names(), ElementsAre("config", "network/level_4/weight", "note",
                                          "optimiser/empty", "optimiser/rate", "steps"));
  EXPECT_EQ(bytes_of(reader.read_float("network/level_4/weight")), bytes_of(kWeight));
  EXPECT_THAT(reader.shape("network/level_4/weight"), ElementsAre(2, 3, 1));
  EXPECT_EQ(reader.read_double("optimiser/rate"), kState);
  EXPECT_TRUE(reader.shape("optimiser/rate").empty());
  EXPECT_EQ(reader.read_int64("steps"), kSteps);
  EXPECT_TRUE(reader.read_float("optimiser/empty").empty());
  EXPECT_THAT(reader.shape("optimiser/empty"), ElementsAre(0, 5));
  EXPECT_EQ(reader.read_text("config"), "[train]\nseed = 1\n");
  EXPECT_EQ(reader.read_text("note"), "");
  EXPECT_TRUE(reader.has("steps"));
  EXPECT_FALSE(reader.has("optimiser"));
  EXPECT_FALSE(reader.has("step"));
}

TEST(CheckpointFile, SavingAgainReplacesTheWholeFile) {
  std::string const path = archive_at("again");
  ArchiveWriter other;
  other.add("only", kState, {1});
  other.save(path);
  EXPECT_THAT(ArchiveReader(path).names(), ElementsAre("only"));
  EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(path).parent_path()), {}), 1);
}

TEST(CheckpointFile, TheSameContentGivesTheSameBytes) {
  std::string const one = timeless([] { return slurp(archive_at("one")); });
  EXPECT_TRUE(slurp(archive_at("two")) == one);
}

TEST(CheckpointFile, WriterRefusesWhatDoesNotFit) {
  ArchiveWriter writer = sample_archive();
  EXPECT_THAT([&] { writer.add("steps", kState, {1}); }, throws("steps", "already"));
  EXPECT_THAT([&] { writer.add("x", kState, {2}); }, throws("x", "1 values do not fit"));
  EXPECT_THROW(writer.add("x", kWeight, {-2, -3}), Error);
  for (char const* name : {"", "/x", "x/"}) EXPECT_THROW(writer.add(name, kState, {1}), Error);
}

TEST(CheckpointFile, ReaderNamesWhatIsMissingOrOfAnotherType) {
  ArchiveReader const reader(archive_at("wrong"));
  EXPECT_THAT([&] { reader.read_int64("stepz"); },
              throws(reader.path(), "holds no stepz. The nearest names are: steps"));
  EXPECT_THAT([&] { reader.shape("nowhere"); }, throws(reader.path(), "holds no nowhere"));
  EXPECT_THAT([&] { reader.read_float("steps"); },
              throws(reader.path(), "steps: holds int64, not float32"));
  EXPECT_THAT([&] { reader.read_text("optimiser/rate"); },
              throws(reader.path(), "holds float64, not uint8"));
}

TEST(CheckpointFile, BadFilesAreRefused) {
  std::string const path = archive_at("bad");
  std::string const bytes = slurp(path);
  EXPECT_THAT([&] { ArchiveReader{path + "x"}; }, throws(path + "x", "there is no such file"));
  spit(path, bytes.substr(0, bytes.size() / 2));
  EXPECT_THAT([&] { ArchiveReader{path}; }, throws(path, "truncated"));
  spit(path, "a text");
  EXPECT_THAT([&] { ArchiveReader{path}; }, throws(path, "foreign"));
  write_small_shard(path, small_info());
  EXPECT_THAT([&] { ArchiveReader{path}; }, throws(path, "but no voxcycle-archive"));
  ArchiveWriter({"voxcycle-archive", 5}).save(path);
  EXPECT_THAT([&] { ArchiveReader{path}; }, throws(path, "version 5"));
  EXPECT_NO_THROW(ArchiveReader(path, {"voxcycle-archive", 5}));
}

TEST(CheckpointFile, AFlippedBitAnywhereIsNoticed) {
  std::string const path = archive_at("flipped");
  std::string const bytes = slurp(path);
  auto const read_all = [&] {
    ArchiveReader const reader(path);
    ArchiveReader const expected(path + ".good");
    bool same = reader.names() == expected.names();
    same = same && bytes_of(reader.read_float("network/level_4/weight")) == bytes_of(kWeight);
    same = same && reader.read_double("optimiser/rate") == kState;
    same = same && reader.read_int64("steps") == kSteps;
    same = same && reader.read_text("config") == expected.read_text("config");
    return same;
  };
  spit(path + ".good", bytes);
  ASSERT_TRUE(read_all());
  for (std::size_t place = 0; place < bytes.size(); place += 7) {
    std::string damaged = bytes;
    damaged[place] = static_cast<char>(damaged[place] ^ 4);
    spit(path, damaged);
    bool right_or_refused = false;
    try {
      right_or_refused = read_all();  // some bytes are padding
    } catch (Error const&) {
      right_or_refused = true;
    }
    EXPECT_TRUE(right_or_refused) << "byte " << place;
  }
}

/// A file of 2 KB may say that it holds 8 GB.
TEST(CheckpointFile, AShapeWithoutItsNumbersTakesNoMemory) {
  std::string const path = fresh_directory("hollow") + "/a.h5";
  hdf5::File file = hdf5::File::create(path, path);
  file.write_attribute("format", ArchiveFormat{}.name);
  file.write_attribute<std::int64_t>("version", std::array{ArchiveFormat{}.version});
  file.create_dataset("weight", hdf5::Number::float64, {std::int64_t{1} << 30})
      .write_attribute("crc32", 0U);
  file.close();
  EXPECT_THAT([&] { ArchiveReader(path).read_double("weight"); },
              throws(path, "weight: holds 0 bytes, too few for its shape"));
}

TEST(CheckpointFile, AFullDiskKeepsTheOldFile) {
  std::string const path = archive_at("full");
  std::string const before = slurp(path);
  std::vector<double> large(100000);
  std::iota(large.begin(), large.end(), 0.0);
  ArchiveWriter writer;
  writer.add("large", large, {100000});
  for (rlim_t bytes : {0, 500000, 800100}) {
    SmallDisk const disk(bytes);
    EXPECT_THAT([&] { writer.save(path); }, throws(path, "cannot write: File too large"));
    EXPECT_TRUE(slurp(path) == before);
    EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(path).parent_path()), {}), 1);
  }
  writer.save(path);
  EXPECT_EQ(ArchiveReader(path).read_double("large"), large);
}

}  // namespace checkpoint_file_test
}  // namespace voxcycle
