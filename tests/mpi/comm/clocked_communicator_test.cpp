// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/clocked_communicator.hpp"

#include <chrono>
#include <thread>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace clocked_communicator_test {

std::vector<std::string> names(std::vector<CollectiveCall> const& calls) {
  std::vector<std::string> found;
  for (auto const& call : calls) found.emplace_back(call.name);
  return found;
}

TEST(ClockedCommunicator, DoesWhatTheOtherDoesAndNotesIt) {
  auto const mpi = make_mpi_communicator();
  ClockedCommunicator comm(*mpi);
  EXPECT_EQ(comm.rank(), mpi->rank());
  EXPECT_EQ(comm.size(), mpi->size());
  EXPECT_EQ(comm.local_size(), mpi->local_size());
  EXPECT_EQ(comm.transport(), mpi->transport());
  int const size = comm.size();
  at::Tensor const mine = at::full({3}, comm.rank() + 1, at::kLong);
  at::Tensor const sum = at::full({3}, size * (size + 1) / 2, at::kLong);

  comm.start_clock();
  at::Tensor values = mine.clone();
  comm.all_reduce(values, ReduceOperation::sum);
  EXPECT_TRUE(at::equal(values, sum));
  values = mine.clone();
  comm.start_all_reduce(values, ReduceOperation::sum)->wait();
  EXPECT_TRUE(at::equal(values, sum));
  values = mine.clone();
  comm.broadcast(values, size - 1);
  EXPECT_TRUE(at::equal(values, at::full({3}, size, at::kLong)));
  EXPECT_TRUE(at::equal(comm.all_gather(mine), mpi->all_gather(mine)));
  EXPECT_EQ(comm.exchange(mine, mine).before.defined(), comm.rank() > 0);
  comm.barrier();
  auto const calls = comm.stop_clock();
  if (size == 1) {
    EXPECT_TRUE(calls.empty()) << "there is nobody to wait for";
  } else {
    EXPECT_THAT(names(calls), ::testing::ElementsAre("all-reduce", "all-reduce (rest)", "broadcast",
                                                     "all-gather", "exchange", "barrier"));
  }
  comm.barrier();
  EXPECT_TRUE(comm.stop_clock().empty()) << "the clock was not started again";
}

TEST(ClockedCommunicator, WhoComesLastIsInTheCallTheShortest) {
  auto const mpi = make_mpi_communicator();
  if (mpi->size() == 1) GTEST_SKIP() << "nobody waits for it";
  ClockedCommunicator comm(*mpi);
  auto const part = comm.split(0);  // of all of them
  int const late = comm.size() - 1;
  comm.barrier();
  comm.start_clock();
  if (comm.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  at::Tensor values = at::zeros({1});
  part->all_reduce(values, ReduceOperation::sum);
  auto const calls = comm.stop_clock();
  EXPECT_THAT(names(calls), ::testing::ElementsAre("all-reduce"));
  at::Tensor const inside = mpi->all_gather(at::full({1}, calls.at(0).seconds, at::kDouble));
  EXPECT_EQ(inside.argmin().item<std::int64_t>(), late);
}

}  // namespace clocked_communicator_test
}  // namespace voxcycle
