// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/grid/units.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace {

using testing::ElementsAre;

TEST(Units, ExampleOfTheHeader) {
  EXPECT_EQ(unit_count(7, 2), 4);
  EXPECT_THAT(units_of_rank(7, 2, 3, 0), ElementsAre(Unit{0, 0, 2}));
  EXPECT_THAT(units_of_rank(7, 2, 3, 1), ElementsAre(Unit{1, 2, 4}));
  EXPECT_THAT(units_of_rank(7, 2, 3, 2), ElementsAre(Unit{2, 4, 6}, Unit{3, 6, 7}));
}

TEST(Units, RanksTogetherOwnTheBatchOnce) {
  for (std::int64_t batch : {0, 1, 2, 5, 8, 13, 64}) {
    for (std::int64_t size : {1, 2, 3, 8}) {
      std::vector<Unit> const whole = units_of_rank(batch, size, 1, 0);
      EXPECT_EQ(std::ssize(whole), unit_count(batch, size));
      std::int64_t end = 0;
      for (Unit const& unit : whole) {
        EXPECT_EQ(unit.begin, end);
        EXPECT_TRUE(unit.size() == size || unit.end == batch) << "only the last may be smaller";
        EXPECT_GT(unit.size(), 0);
        end = unit.end;
      }
      EXPECT_EQ(end, batch);
      for (int ranks : {2, 3, 7, 100}) {
        std::vector<Unit> together;
        std::int64_t fewest = batch;
        std::int64_t most = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          std::vector<Unit> const own = units_of_rank(batch, size, ranks, rank);
          fewest = std::min<std::int64_t>(fewest, std::ssize(own));
          most = std::max<std::int64_t>(most, std::ssize(own));
          together.insert(together.end(), own.begin(), own.end());
        }
        EXPECT_EQ(together, whole) << batch << " by " << size << " on " << ranks;
        EXPECT_LE(most - fewest, 1);
      }
    }
  }
}

TEST(Units, ImpossibleRequestsAreRefused) {
  EXPECT_THROW(unit_count(4, 0), Error);
  EXPECT_THROW(unit_count(-1, 2), Error);
  EXPECT_THROW(units_of_rank(4, 2, 0, 0), Error);
  EXPECT_THROW(units_of_rank(4, 2, 3, 3), Error);
  EXPECT_THROW(units_of_rank(4, 2, 3, -1), Error);
}

}  // namespace
}  // namespace voxcycle
