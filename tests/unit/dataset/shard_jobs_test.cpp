// SPDX-License-Identifier: BSD-3-Clause
#include "dataset/shard_jobs.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"

#include <algorithm>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace voxcycle {
namespace shard_jobs_test {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

ShardJob job(std::int64_t n, std::int64_t samples, bool has_reference) {
  ShardJob made;
  made.info.grid = Grid3::cube(n);
  made.info.samples = samples;
  made.info.has_reference = has_reference;
  return made;
}

TEST(ShardJobs, ReferencesAreSharedOut) {
  // As plan_jobs lists them: training and held-out samples of each grid in turn.
  std::vector<ShardJob> jobs;
  for (int k = 0; k < 4; ++k) {
    jobs.push_back(job(16, 100, false));
    jobs.push_back(job(16, 100, true));
  }
  for (int ranks : {2, 4}) {
    auto const owner = share_jobs(jobs, ranks);
    ASSERT_EQ(owner.size(), jobs.size());
    std::vector<int> solving(static_cast<std::size_t>(ranks), 0);
    for (std::size_t k = 1; k < jobs.size(); k += 2) ++solving.at(owner[k]);
    EXPECT_THAT(solving, Each(4 / ranks));
  }
  EXPECT_THAT(share_jobs(jobs, 1), Each(0));
}

TEST(ShardJobs, TheFinestGridIsOneRanksWork) {
  // 64^3 is as much as eight of 32^3 are.
  EXPECT_THAT(share_jobs({job(32, 10, true), job(64, 10, true), job(32, 10, true)}, 2),
              ElementsAre(1, 0, 1));
  EXPECT_THAT(share_jobs({job(32, 10, true), job(32, 20, true), job(32, 10, true)}, 2),
              ElementsAre(1, 0, 1));
}

DatasetOptions many_samples(std::int64_t count) {
  return {.directory = std::string(VOXCYCLE_TEST_SCRATCH) + "/many",
          .grids = {Grid3::cube(8)},
          .train_samples = {count},
          .held_out_samples = {2},
          .shard_samples = {2}};
}

TEST(ShardJobs, AreNoMoreThanADirectoryIsGoodFor) {
  auto const plan = [](std::int64_t samples) {
    auto const options = many_samples(samples);
    return plan_jobs(options, *make_family(options.family)).size();
  };
  EXPECT_EQ(plan(200), 101U);
  EXPECT_THAT([&] { plan(1'000'000'000); },
              ThrowsMessage<Error>(HasSubstr("are 500000000 files (a directory takes at most "
                                             "99999). Raise data.shard_samples.")));
}

TEST(ShardJobs, HaveRoomOnTheDisk) {
  auto const path = std::string(VOXCYCLE_TEST_SCRATCH) + "/no/such/directory/shard";
  auto small = job(8, 10, true), large = job(1 << 15, 1'000'000, true);
  small.path = large.path = path;
  EXPECT_NO_THROW(require_room_on_disk({small, small}));
  EXPECT_THAT(
      [&] {
        require_room_on_disk({small, large});
      },
      ThrowsMessage<Error>(HasSubstr("no/such/directory: the disk has ")));
  large.path = std::filesystem::read_symlink("/proc/self/exe");  // is there already
  EXPECT_NO_THROW(require_room_on_disk({small, large}));
}

/// Whoever removes a file that is whole, but may not be opened, loses it.
TEST(ShardJobs, OnlyFilesThatCanBeReadAreToBeRemoved) {
  auto const path = std::string(VOXCYCLE_TEST_SCRATCH) + "/unread.h5";
  write_file_atomically(path, "no HDF5");
  auto one = job(8, 10, true);
  one.path = path;
  auto const family = make_family({});
  StopSignal const stop;
  auto const told = [&] {
    try {
      is_done(*family, one, stop);
    } catch (Error const& problem) {
      return std::string(problem.what());
    }
    return std::string();
  };
  EXPECT_THAT(told(), HasSubstr("Remove"));
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit const none{0, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  auto const text = told();
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_THAT(text, AllOf(HasSubstr("Too many open files"), Not(HasSubstr("Remove"))));
}

}  // namespace shard_jobs_test
}  // namespace voxcycle
