// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/grid/micro_batches.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace micro_batches_test {

using ::testing::ElementsAre;

TEST(MicroBatches, ExampleOfTheHeader) {
  EXPECT_EQ(micro_batch_count(7, 2), 4);
  EXPECT_THAT(micro_batches_of_rank(7, 2, 3, 0), ElementsAre(MicroBatch{0, 0, 2}));
  EXPECT_THAT(micro_batches_of_rank(7, 2, 3, 1), ElementsAre(MicroBatch{1, 2, 4}));
  EXPECT_THAT(micro_batches_of_rank(7, 2, 3, 2),
              ElementsAre(MicroBatch{2, 4, 6}, MicroBatch{3, 6, 7}));
}

TEST(MicroBatches, RanksTogetherOwnTheBatchOnce) {
  for (std::int64_t batch : {0, 1, 2, 5, 8, 13, 64}) {
    for (std::int64_t size : {1, 2, 3, 8}) {
      std::vector<MicroBatch> const whole = micro_batches_of_rank(batch, size, 1, 0);
      EXPECT_EQ(std::ssize(whole), micro_batch_count(batch, size));
      std::int64_t end = 0;
      for (MicroBatch const& micro_batch : whole) {
        EXPECT_EQ(micro_batch.begin, end);
        EXPECT_TRUE(micro_batch.size() == size || micro_batch.end == batch)
            << "only the last may be smaller";
        EXPECT_GT(micro_batch.size(), 0);
        end = micro_batch.end;
      }
      EXPECT_EQ(end, batch);
      for (int ranks : {2, 3, 7, 100}) {
        std::vector<MicroBatch> together;
        std::int64_t fewest = batch;
        std::int64_t maximum = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          std::vector<MicroBatch> const own = micro_batches_of_rank(batch, size, ranks, rank);
          fewest = std::min<std::int64_t>(fewest, std::ssize(own));
          maximum = std::max<std::int64_t>(maximum, std::ssize(own));
          together.insert(together.end(), own.begin(), own.end());
        }
        EXPECT_EQ(together, whole) << batch << " by " << size << " on " << ranks;
        EXPECT_LE(maximum - fewest, 1);
      }
    }
  }
}

TEST(MicroBatches, TheBusiestRankHasThoseInTurn) {
  for (std::int64_t batch : {1, 5, 8, 13}) {
    for (int ranks : {1, 2, 3, 7, 20}) {
      std::size_t most = 0;
      for (int rank = 0; rank < ranks; ++rank)
        most = std::max(most, micro_batches_of_rank(batch, 2, ranks, rank).size());
      EXPECT_EQ(micro_batches_in_turn(batch, 2, ranks), most) << batch << " on " << ranks;
    }
  }
}

TEST(MicroBatches, ImpossibleRequestsAreRefused) {
  EXPECT_THROW(micro_batch_count(4, 0), Error);
  EXPECT_THROW(micro_batch_count(-1, 2), Error);
  EXPECT_THROW(micro_batches_of_rank(4, 2, 0, 0), Error);
  EXPECT_THROW(micro_batches_of_rank(4, 2, 3, 3), Error);
  EXPECT_THROW(micro_batches_of_rank(4, 2, 3, -1), Error);
}

}  // namespace micro_batches_test
}  // namespace voxcycle
