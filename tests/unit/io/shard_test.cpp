// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/io/shard.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/io/checkpoint_file.hpp"

#include <limits>
#include <thread>

#include "shard_files.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

// Of HDF5, whose headers only io sees.
using hid_t = std::int64_t;
extern "C" hid_t H5Fopen(char const* path, unsigned flags, hid_t access);
extern "C" int H5Adelete(hid_t file, char const* name);
extern "C" int H5Fclose(hid_t file);

namespace voxcycle {
namespace shard_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Writes a shard into a fresh directory. @return its path
std::string shard_at(std::string const& name, ShardInfo const& info = small_info()) {
  std::string const path = fresh_directory(name) + "/" + shard_name(0, 1);
  write_small_shard(path, info);
  return path;
}

/// Replaces bytes in a file once.
void patch(std::string const& path, std::string const& from, std::string const& to) {
  std::string bytes = slurp(path);
  auto const place = bytes.find(from);
  ASSERT_NE(place, std::string::npos) << "the test's own idea of the file is wrong";
  spit(path, bytes.replace(place, to.size(), to));
}

auto throws(std::string const& path, std::string const& text) {
  return ThrowsMessage<Error>(AllOf(HasSubstr(path), HasSubstr(text)));
}

TEST(Shard, ReadsWhatWasWritten) {
  for (auto [source, reference] :
       {std::pair{true, true}, {true, false}, {false, true}, {false, false}}) {
    ShardInfo info = small_info();
    info.has_source = source;
    info.has_reference = reference;
    std::string const path = shard_at("round_trip", info);
    ShardReader const reader(path);
    EXPECT_TRUE(reader.info() == info);
    EXPECT_EQ(reader.path(), path);
    for (std::int64_t local : {2, 0, 1}) {
      ShardSample const sample = reader.read(local);
      ShardSample const expected = small_sample(info, local);
      EXPECT_EQ(sample.omega, expected.omega);
      EXPECT_EQ(sample.nu, expected.nu);
      EXPECT_EQ(sample.f, expected.f);
      EXPECT_EQ(sample.u_ref, expected.u_ref);
      ShardSample const without = reader.read(local, ReadReference::no);
      EXPECT_EQ(without.nu, expected.nu);
      EXPECT_EQ(without.f, expected.f);
      EXPECT_TRUE(without.u_ref.empty());
    }
    EXPECT_THAT([&] { reader.read(3); }, throws(path, "sample 3 of 3 does not exist"));
    EXPECT_THAT([&] { reader.read(-1); }, throws(path, "does not exist"));
  }
}

TEST(Shard, ReadsSomePlanes) {
  ShardInfo const info = small_info();
  std::string const path = shard_at("planes", info);
  ShardReader const reader(path);
  ShardSample const expected = small_sample(info, 1);
  for (std::int64_t begin = 0; begin < info.grid.voxels[0]; ++begin) {
    Planes const planes{begin, info.grid.voxels[0] - begin};
    ShardSample const found = reader.read(1, ReadReference::yes, planes);
    ShardSample const cut = on_planes(expected, info.grid, planes);
    EXPECT_EQ(std::ssize(found.nu), planes.count * info.grid.voxels[1] * info.grid.voxels[2]);
    EXPECT_TRUE(std::equal(found.nu.rbegin(), found.nu.rend(), expected.nu.rbegin()));
    EXPECT_EQ(std::ssize(found.u_ref),
              (planes.count + 1) * info.grid.nodes(1) * info.grid.nodes(2));
    EXPECT_TRUE(std::equal(found.u_ref.rbegin(), found.u_ref.rend(), expected.u_ref.rbegin()));
    EXPECT_EQ(found.nu, cut.nu);
    EXPECT_EQ(found.f, cut.f);
    EXPECT_EQ(found.u_ref, cut.u_ref);
    EXPECT_EQ(found.omega, expected.omega);
  }
  EXPECT_THAT(
      [&] {
        reader.read(1, ReadReference::no, {0, info.grid.voxels[0] + 1});
      },
      throws(path, "there are no planes 0 to"));
}

TEST(Shard, TellsHowWellItsReferencesWereSolved) {
  ShardInfo info = small_info();
  info.reference_tolerance = 3e-7;
  std::string const path = shard_at("tolerance", info);
  EXPECT_EQ(ShardReader(path).info().reference_tolerance, 3e-7);
  // A shard of before tolerances were recorded.
  hid_t const file = H5Fopen(path.c_str(), 1 /* read and write */, 0);
  ASSERT_GE(H5Adelete(file, "reference_tolerance"), 0);
  ASSERT_GE(H5Fclose(file), 0);
  EXPECT_EQ(ShardReader(path).info().reference_tolerance, 1e-10);
  EXPECT_EQ(ShardReader(path).read(1).u_ref, small_sample(info, 1).u_ref);
}

TEST(Shard, TellsWhoSolvedItsReferencesAndWhatAnotherFound) {
  ShardInfo info = small_info();
  info.reference_solver = "fft";
  std::string const path = std::string(VOXCYCLE_TEST_SCRATCH) + "/solvers.h5";
  write_shard(path, info, [&](std::int64_t local) {
    ShardSample sample = small_sample(info, local);
    sample.reference_difference = 1e-11 * static_cast<double>(3 - local);
    return sample;
  });
  EXPECT_EQ(ShardReader(path).info().reference_solver, "fft");
  EXPECT_EQ(ShardReader(path).info().reference_difference, 3e-11);
  hid_t const file = H5Fopen(path.c_str(), 1 /* read and write */, 0);
  ASSERT_GE(H5Adelete(file, "reference_solver"), 0);
  ASSERT_GE(H5Adelete(file, "reference_difference"), 0);
  ASSERT_GE(H5Fclose(file), 0);
  EXPECT_EQ(ShardReader(path).info().reference_solver, "multigrid");
  EXPECT_FALSE(ShardReader(path).info().reference_difference);
}

TEST(Shard, ChecksumIsTheCrc32OfTheDocumentedBytes) {
  for (auto [source, reference] : {std::pair{true, true}, {true, false}, {false, true}}) {
    ShardInfo info = small_info();
    info.has_source = source;
    info.has_reference = reference;
    std::string const bytes = slurp(shard_at("checksum", info));
    std::vector<std::uint32_t> sums;
    for (std::int64_t local = 0; local < info.samples; ++local) {
      ShardSample const sample = small_sample(info, local);
      for (std::string const& array : {bytes_of(sample.omega), bytes_of(sample.nu),
                                       bytes_of(sample.f), bytes_of(sample.u_ref)}) {
        sums.push_back(crc32_by_hand(array));
      }
    }
    EXPECT_NE(bytes.find(bytes_of(sums)), std::string::npos);
  }
}

TEST(Shard, TheSameSamplesMakeTheSameFile) {
  std::string const one = timeless([] { return slurp(shard_at("one")); });
  EXPECT_TRUE(slurp(shard_at("two")) == one);
}

TEST(Shard, SamplesAreAskedForInOrderAndOnlyOnce) {
  std::vector<std::int64_t> asked;
  write_shard(fresh_directory("order") + "/shard.h5", small_info(), [&](std::int64_t local) {
    asked.push_back(local);
    return small_sample(small_info(), local);
  });
  EXPECT_EQ(asked, (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(Shard, ReaderMayBeReadOnAnotherThread) {
  ShardReader const reader(shard_at("thread"));
  ShardSample sample;
  std::thread([&] { sample = reader.read(1); }).join();
  EXPECT_EQ(sample.nu, small_sample(small_info(), 1).nu);
}

TEST(Shard, MissingFileIsSaidToBeMissing) {
  std::string const path = fresh_directory("missing") + "/none.h5";
  EXPECT_THAT([&] { ShardReader{path}; }, throws(path, "there is no such file"));
  EXPECT_THAT([&] { ShardReader{fresh_directory("missing")}; },
              throws("missing", "is not a regular file"));
}

TEST(Shard, EveryTruncationIsNoticed) {
  std::string const path = shard_at("truncated");
  std::string const bytes = slurp(path);
  for (std::size_t size : {bytes.size() / 2, bytes.size() - 1, std::size_t{40}, std::size_t{0}}) {
    spit(path, bytes.substr(0, size));
    EXPECT_THAT([&] { ShardReader{path}; }, throws(path, "truncated")) << size;
  }
}

TEST(Shard, ForeignFilesAreRefused) {
  std::string const directory = fresh_directory("foreign");
  spit(directory + "/text.h5", std::string(3000, 'x'));
  EXPECT_THAT([&] { ShardReader{directory + "/text.h5"}; }, throws("text.h5", "foreign"));

  ArchiveWriter().save(directory + "/archive.h5");
  EXPECT_THAT([&] { ShardReader{directory + "/archive.h5"}; },
              throws("archive.h5", "is an HDF5 file, but no voxcycle-shard"));

  ArchiveWriter({"voxcycle-shard", 3}).save(directory + "/future.h5");
  EXPECT_THAT([&] { ShardReader{directory + "/future.h5"}; },
              throws("future.h5", "is voxcycle-shard version 3, but this program reads version 2"));

  ArchiveWriter({"voxcycle-shard", 2}).save(directory + "/empty.h5");
  EXPECT_THAT([&] { ShardReader{directory + "/empty.h5"}; },
              throws("empty.h5", "cannot read the attribute family"));
}

TEST(Shard, AFlippedBitInTheAttributesIsNoticed) {
  std::string const path = shard_at("attributes");
  patch(path, "kl(modes=2", "kl(modes=3");
  EXPECT_THAT([&] { ShardReader{path}; }, throws(path, "HDF5: "));
}

TEST(Shard, AFlippedBitInAnyArrayIsNoticed) {
  ShardSample const sample = small_sample(small_info(), 1);
  for (std::string const& array :
       {bytes_of(sample.omega), bytes_of(sample.nu), bytes_of(sample.f), bytes_of(sample.u_ref)}) {
    std::string const path = shard_at("flipped");
    std::string damaged = array;
    damaged[array.size() / 2] = static_cast<char>(damaged[array.size() / 2] ^ 1);
    patch(path, array, damaged);
    ShardReader const reader(path);
    EXPECT_THAT([&] { reader.read(1); }, throws(path, "sample 1: its checksum does not fit"));
    EXPECT_NO_THROW(reader.read(0));
    EXPECT_NO_THROW(reader.read(2));
    // What is not read is not checked, and nothing else is left unchecked.
    if (array == bytes_of(sample.u_ref)) {
      EXPECT_NO_THROW(reader.read(1, ReadReference::no));
    } else {
      EXPECT_THROW(reader.read(1, ReadReference::no), Error);
    }
  }
}

TEST(Shard, BadCoefficientsAreRefusedOnWritingAndOnReading) {
  ShardInfo const info = small_info();
  for (float bad : {-1.0F, 0.0F, std::numeric_limits<float>::quiet_NaN(),
                    std::numeric_limits<float>::infinity()}) {
    ShardSample sample = small_sample(info, 1);
    std::string const good_nu = bytes_of(sample.nu);
    auto const sum = [](ShardSample const& s) {
      return bytes_of(std::vector<std::uint32_t>{crc32_by_hand(bytes_of(s.nu))});
    };
    std::string const good_sum = sum(sample);
    sample.nu[7] = bad;

    // A writer that does not check: correct checksum, bad nu.
    std::string const path = shard_at("bad_nu");
    patch(path, good_nu, bytes_of(sample.nu));
    patch(path, good_sum, sum(sample));
    EXPECT_THAT([&] { ShardReader(path).read(1); }, throws(path, "nu is not positive and finite"));

    std::string const directory = fresh_directory("bad_nu_written");
    EXPECT_THAT([&] { write_shard(directory + "/s.h5", info, [&](auto) { return sample; }); },
                throws("s.h5: sample 0", "nu is not positive and finite"));
    EXPECT_TRUE(fs::is_empty(directory));
  }
}

TEST(Shard, WrongSizesAreRefusedAndLeaveNoFile) {
  std::string const directory = fresh_directory("sizes");
  ShardInfo info = small_info();
  auto const write = [&](auto change) {
    write_shard(directory + "/s.h5", info, [&](std::int64_t local) {
      ShardSample sample = small_sample(info, local);
      change(sample);
      return sample;
    });
  };
  auto const names_the_sizes =
      throws("s.h5: sample 0", "of omega, nu, f, u_ref should be 2, 24, 24, 60");
  EXPECT_THAT([&] { write([](auto& sample) { sample.omega.pop_back(); }); }, names_the_sizes);
  EXPECT_THAT([&] { write([](auto& sample) { sample.nu.push_back(1.0F); }); }, names_the_sizes);
  EXPECT_THAT([&] { write([](auto& sample) { sample.u_ref.clear(); }); }, names_the_sizes);
  info.has_reference = false;
  EXPECT_THAT([&] { write([](auto& sample) { sample.u_ref.resize(60); }); },
              throws("s.h5: sample 0", "should be 2, 24, 24, 0"));
  info.samples = 0;
  EXPECT_THROW(write([](auto&) {}), Error);
  EXPECT_TRUE(fs::is_empty(directory));
}

TEST(Shard, AFailureOfTheGeneratorLeavesNoFile) {
  std::string const directory = fresh_directory("generator");
  auto const fails = [](std::int64_t local) {
    if (local == 2) throw Error("no convergence");
    return small_sample(small_info(), local);
  };
  EXPECT_THAT([&] { write_shard(directory + "/s.h5", small_info(), fails); },
              ThrowsMessage<Error>(HasSubstr("no convergence")));
  EXPECT_TRUE(fs::is_empty(directory));
}

TEST(Shard, AFullDiskIsReportedAndLeavesNoFile) {
  std::string const directory = fresh_directory("full");
  ShardInfo info = small_info();
  info.grid = Grid3::cube(16);
  // The whole file has 220,051 bytes: full at once, in an array, and only in the last metadata.
  for (rlim_t bytes : {0, 100, 60000, 126000, 219500, 220050}) {
    SmallDisk const disk(bytes);
    EXPECT_THAT([&] { write_small_shard(directory + "/s.h5", info); },
                throws(directory + "/s.h5:", "cannot write: File too large"))
        << bytes;
    EXPECT_TRUE(fs::is_empty(directory)) << bytes;
  }
  // The library must still work afterwards.
  write_small_shard(directory + "/s.h5", info);
  EXPECT_EQ(ShardReader(directory + "/s.h5").read(2).nu, small_sample(info, 2).nu);
}

TEST(Shard, NamesAreSortableAndSayTheirPlace) {
  EXPECT_EQ(shard_name(2, 8), "shard-00002-of-00008.h5");
  EXPECT_EQ(shard_directory("data", "held_out", {{64, 32, 16}, {1, 1, 1}}),
            "data/held_out/64x32x16");
}

}  // namespace shard_test
}  // namespace voxcycle
