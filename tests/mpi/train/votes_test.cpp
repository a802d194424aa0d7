// SPDX-License-Identifier: BSD-3-Clause
#include "train/votes.hpp"

#include <gtest/gtest.h>

namespace voxcycle {
namespace votes_test {

TEST(Votes, OneRankStopsAllAndClocksAreThoseOfRank0) {
  auto const comm = make_mpi_communicator();
  int const last = comm->size() - 1;
  double const late = 1.0 + comm->rank();  // clocks of other ranks are ahead
  Votes const counted = count_votes(*comm, {.stop = comm->rank() == last,
                                            .data_share = 0.1 * late,
                                            .seconds = late,
                                            .stage_seconds = 2 * late,
                                            .step_seconds = 3 * late,
                                            .since_checkpoint = 4 * late});
  EXPECT_TRUE(counted.stop);
  EXPECT_DOUBLE_EQ(counted.data_share, 0.1 * comm->size());
  EXPECT_EQ(counted.seconds, 1.0);
  EXPECT_EQ(counted.stage_seconds, 2.0);
  EXPECT_EQ(counted.step_seconds, 3.0);
  EXPECT_EQ(counted.since_checkpoint, 4.0);
  EXPECT_FALSE(count_votes(*comm, {}).stop);
}

}  // namespace votes_test
}  // namespace voxcycle
