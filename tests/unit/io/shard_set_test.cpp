// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/error.hpp"
#include "voxcycle/io/shard.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <vector>

#include "shard_files.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace shard_set_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Three shards of 2, 3 and 1 samples; `change` may spoil the info of one before it is written.
std::string set_at(
    std::string const& name,
    std::function<void(int number, ShardInfo& info)> const& change = [](int, ShardInfo&) {}) {
  std::string const directory = fresh_directory(name);
  std::int64_t const sizes[] = {2, 3, 1};
  std::int64_t first = 0;
  for (int number = 0; number < 3; ++number) {
    ShardInfo info = small_info();
    info.first_index = first;
    info.samples = sizes[number];
    first += sizes[number];
    change(number, info);
    write_small_shard(directory + "/" + shard_name(number, 3), info);
  }
  return directory;
}

auto throws(std::string const& file, std::string const& text) {
  return ThrowsMessage<Error>(AllOf(HasSubstr(file), HasSubstr(text)));
}

TEST(ShardSet, ReadsAllSamplesByGlobalIndexInAnyOrder) {
  ShardSet set(set_at("whole"));
  ASSERT_EQ(set.samples(), 6);
  EXPECT_EQ(set.info().family, small_info().family);
  ShardInfo whole = small_info();
  whole.first_index = 0;
  for (std::int64_t index : {5, 0, 4, 1, 3, 2, 5}) {
    EXPECT_EQ(set.read(index).nu, small_sample(whole, index).nu) << index;
  }
  EXPECT_THROW(set.read(6), Error);
  EXPECT_THROW(set.read(-1), Error);
  ShardSet moved = std::move(set);
  EXPECT_EQ(moved.read(4).omega, small_sample(whole, 4).omega);
}

TEST(ShardSet, ContentsAreThoseOfTheSamplesHoweverTheyAreSharedOut) {
  ShardInfo whole = small_info();
  whole.first_index = 0;
  whole.samples = 6;
  std::string const directory = fresh_directory("one");
  write_small_shard(directory + "/" + shard_name(0, 1), whole);
  auto const contents = ShardSet(set_at("whole")).contents();
  EXPECT_EQ(ShardSet(directory).contents(), contents);
  EXPECT_NE(ShardSet(directory).contents(contents), contents);
  whole.samples = 5;
  write_small_shard(directory + "/" + shard_name(0, 1), whole);
  EXPECT_NE(ShardSet(directory).contents(), contents);
}

TEST(ShardSet, SetsOfOneListNeedItsFilesNoMore) {
  std::string const directory = set_at("listed");
  ShardList const list(directory);
  EXPECT_EQ(list.samples(), 6);
  // Only the shards that samples are read from are opened again.
  spit(directory + "/" + shard_name(2, 3), "no shard any more");
  ShardSet set(list), other(list);
  EXPECT_EQ(set.read(1).nu, other.read(1).nu);
  EXPECT_THROW(set.read(5), Error);
}

/// Files that this process has open.
std::ptrdiff_t open_files() {
  return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
}

TEST(ShardSet, AllSetsTogetherHoldNoMoreFilesThanAFew) {
  constexpr int kSets = 5, kShards = 40;
  auto const before = open_files();
  std::ptrdiff_t maximum = 0;
  {
    std::vector<ShardSet> sets;
    for (int k = 0; k < kSets; ++k) {
      std::string const directory = fresh_directory("many" + std::to_string(k));
      for (int number = 0; number < kShards; ++number) {
        ShardInfo info = small_info();
        info.first_index = number;
        info.samples = 1;
        write_small_shard(directory + "/" + shard_name(number, kShards), info);
      }
      sets.emplace_back(ShardList(directory));
    }
    for (int index = 0; index < kShards; ++index) {
      for (auto& set : sets) EXPECT_EQ(set.read(index).nu, sets.front().read(index).nu);
      maximum = std::max(maximum, open_files() - before);
    }
  }
  EXPECT_GT(maximum, 100);
  EXPECT_LE(maximum, 128 + kSets);
  EXPECT_EQ(open_files(), before);
  ShardSet again(ShardList(std::string(VOXCYCLE_TEST_SCRATCH) + "/many0"));
  for (std::int64_t const index : {0, 1, 2}) EXPECT_FALSE(again.read(index).nu.empty());
  EXPECT_EQ(open_files(), before + 3) << "there is room again";
}

TEST(ShardSet, ItsReferencesAreAsGoodAsTheLoosest) {
  ShardSet const set(set_at("tolerances", [](int number, ShardInfo& info) {
    info.reference_tolerance = number == 1 ? 1e-4 : 1e-9;
  }));
  EXPECT_EQ(set.info().reference_tolerance, 1e-4);
}

TEST(ShardSet, NamesAllSolversOfItsReferences) {
  ShardSet const set(set_at("solvers", [](int number, ShardInfo& info) {
    if (number != 0) info.reference_solver = "fft";
  }));
  EXPECT_EQ(set.info().reference_solver, "multigrid- or fft");
}

TEST(ShardSet, OtherFilesBesideTheShardsDoNotMatter) {
  std::string const directory = set_at("beside");
  spit(directory + "/shard-00000-of-00003.h5.tmp-77", "left by a killed process");
  spit(directory + "/notes.txt", "");
  EXPECT_EQ(ShardSet(directory).samples(), 6);
}

TEST(ShardSet, NothingThereSaysHowToMakeIt) {
  EXPECT_THAT([] { ShardSet{std::string(VOXCYCLE_TEST_SCRATCH) + "/nowhere"}; },
              throws("nowhere", "Run voxcycle generate"));
  EXPECT_THAT([] { ShardSet{fresh_directory("empty")}; }, throws("empty", "Run voxcycle generate"));
}

TEST(ShardSet, AMissingShardIsNamed) {
  std::string const directory = set_at("incomplete");
  fs::remove(directory + "/shard-00001-of-00003.h5");
  EXPECT_THAT([&] { ShardSet{directory}; }, throws("shard-00001-of-00003.h5", "is missing"));
}

TEST(ShardSet, TwoSetsInOneDirectoryAreRefused) {
  std::string const directory = set_at("mixed");
  write_small_shard(directory + "/" + shard_name(0, 1), small_info());
  EXPECT_THAT([&] { ShardSet{directory}; }, throws("mixed", "two sets are mixed"));
}

TEST(ShardSet, AShardThatDoesNotBelongIsNamed) {
  struct Case {
    char const* what;
    std::function<void(ShardInfo&)> change;
  };
  Case const cases[] = {
      {"family", [](ShardInfo& info) { info.family = "kl(modes=2, range=2)"; }},
      {"seed", [](ShardInfo& info) { info.seed = 3; }},
      {"split", [](ShardInfo& info) { info.split = "held_out"; }},
      {"grid", [](ShardInfo& info) { info.grid.voxels[1] = 5; }},
      {"grid", [](ShardInfo& info) { info.grid.lengths[2] = 0.2; }},
      {"boundary", [](ShardInfo& info) { info.boundary = "other"; }},
      {"source", [](ShardInfo& info) { info.source = "0"; }},
      {"having sources", [](ShardInfo& info) { info.has_source = false; }},
      {"number of parameters", [](ShardInfo& info) { info.parameters = 4; }},
      {"having references", [](ShardInfo& info) { info.has_reference = false; }},
  };
  for (Case const& one : cases) {
    std::string const directory = set_at("foreign", [&](int number, ShardInfo& info) {
      if (number == 2) one.change(info);
    });
    EXPECT_THAT([&] { ShardSet{directory}; },
                throws("shard-00002-of-00003.h5", "its " + std::string(one.what) + " differs"));
  }
}

TEST(ShardSet, GapsAndOverlapsAreNamed) {
  for (std::int64_t first : {1, 3}) {
    std::string const directory = set_at("gap", [&](int number, ShardInfo& info) {
      if (number == 1) info.first_index = first;
    });
    EXPECT_THAT([&] { ShardSet{directory}; },
                throws("shard-00001-of-00003.h5", "begins at sample " + std::to_string(first)));
  }
}

TEST(ShardSet, ADamagedShardIsNamed) {
  std::string const directory = set_at("damaged");
  std::string const path = directory + "/" + shard_name(1, 3);
  std::string const bytes = slurp(path);
  spit(path, bytes.substr(0, bytes.size() / 2));
  EXPECT_THAT([&] { ShardSet{directory}; }, throws("shard-00001-of-00003.h5", "truncated"));
}

TEST(ShardSet, ManyShardsDoNotExhaustFileHandles) {
  std::string const directory = fresh_directory("many");
  constexpr int kShards = 300;
  for (int number = 0; number < kShards; ++number) {
    ShardInfo info = small_info();
    info.first_index = number;
    info.samples = 1;
    write_small_shard(directory + "/" + shard_name(number, kShards), info);
  }
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  ShardInfo whole = small_info();
  whole.first_index = 0;
  for (rlim_t const limit : {200, 48}) {
    rlimit const few{limit, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    ShardSet set(directory);
    for (std::int64_t index = 0; index < 2 * kShards; ++index) {
      EXPECT_EQ(set.read(index % kShards).omega, small_sample(whole, index % kShards).omega);
    }
    setrlimit(RLIMIT_NOFILE, &before);
  }
}

}  // namespace shard_set_test
}  // namespace voxcycle
