// SPDX-License-Identifier: BSD-3-Clause
#include "dataset/shard_jobs.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace shard_jobs_test {

using ::testing::Each;
using ::testing::ElementsAre;

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

}  // namespace shard_jobs_test
}  // namespace voxcycle
