// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/communicator.hpp"

#include "voxcycle/core/error.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace communicator_test {

TEST(Communicator, ReducesEveryType) {
  auto const comm = make_mpi_communicator();
  for (auto type : {at::kLong, at::kInt, at::kByte, at::kFloat, at::kDouble}) {
    at::Tensor values = at::full({4}, comm->rank() + 1, type);
    comm->all_reduce(values, ReduceOperation::sum);
    EXPECT_TRUE(at::equal(values, at::full({4}, comm->size() * (comm->size() + 1) / 2, type)));
    values.fill_(comm->rank());
    comm->all_reduce(values, ReduceOperation::max);
    EXPECT_TRUE(at::equal(values, at::full({4}, comm->size() - 1, type)));
  }
}

TEST(Communicator, ReductionsUnderWayMayOverlapOthers) {
  auto const comm = make_mpi_communicator();
  at::Tensor first = at::full({1000}, comm->rank() + 1, at::kFloat);
  at::Tensor second = at::full({3}, comm->rank(), at::kLong);
  auto const sum = comm->start_all_reduce(first, ReduceOperation::sum);
  auto const max = comm->start_all_reduce(second, ReduceOperation::max);
  at::Tensor between = at::full({2}, 1.0, at::kDouble);
  comm->all_reduce(between, ReduceOperation::sum);
  max->wait();
  sum->wait();
  EXPECT_TRUE(at::equal(first, at::full({1000}, comm->size() * (comm->size() + 1) / 2.0F)));
  EXPECT_TRUE(at::equal(second, at::full({3}, comm->size() - 1, at::kLong)));
  EXPECT_EQ(between[0].item<double>(), comm->size());
}

TEST(Communicator, CountsTheProcessesOfThisMachine) {
  // These tests run on one; a launcher of several would start them on each.
  auto const comm = make_mpi_communicator();
  EXPECT_EQ(comm->local_size(), comm->size());
}

TEST(Communicator, GathersInRankOrder) {
  auto const comm = make_mpi_communicator();
  auto const gathered = comm->all_gather(at::full({2}, comm->rank(), at::kLong));
  auto const expected = at::arange(comm->size(), at::kLong).view({-1, 1}).expand({-1, 2});
  EXPECT_TRUE(at::equal(gathered, expected));
  auto const texts =
      comm->all_gather_text(std::string(static_cast<std::size_t>(comm->rank()), 'x'));
  for (int r = 0; r < comm->size(); ++r) {
    EXPECT_EQ(texts[static_cast<std::size_t>(r)], std::string(static_cast<std::size_t>(r), 'x'));
  }
}

TEST(Communicator, NeighboursExchange) {
  auto const comm = make_mpi_communicator();
  int const rank = comm->rank();
  auto const marked = [](int from, int to) { return at::full({3, 2}, 10 * from + to, at::kFloat); };
  auto const got = comm->exchange(marked(rank, rank - 1), marked(rank, rank + 1));
  EXPECT_EQ(got.before.defined(), rank > 0);
  EXPECT_EQ(got.behind.defined(), rank + 1 < comm->size());
  if (got.before.defined()) {
    EXPECT_TRUE(at::equal(got.before, marked(rank - 1, rank)));
  }
  if (got.behind.defined()) {
    EXPECT_TRUE(at::equal(got.behind, marked(rank + 1, rank)));
  }
}

TEST(Communicator, SplitsIntoGroupsInRankOrder) {
  auto const comm = make_mpi_communicator();
  int const last = comm->size() - 1;
  auto const part = comm->split(comm->rank() == last ? 1 : 0);
  EXPECT_EQ(part->size(), comm->rank() == last ? 1 : last);
  EXPECT_EQ(part->rank(), comm->rank() == last ? 0 : comm->rank());
  at::Tensor sum = at::ones({1});
  part->all_reduce(sum, ReduceOperation::sum);
  EXPECT_EQ(sum.item<float>(), static_cast<float>(part->size()));
}

TEST(Communicator, KnowsWhetherAnyRankSaysSo) {
  auto const comm = make_mpi_communicator();
  EXPECT_FALSE(comm->any(false));
  EXPECT_TRUE(comm->any(comm->rank() == comm->size() - 1));
  EXPECT_TRUE(comm->any(true));
}

TEST(Communicator, MakesOneRanksErrorCommon) {
  auto const comm = make_mpi_communicator();
  EXPECT_NO_THROW(comm->agree_on_error(""));
  std::string const mine = comm->rank() == comm->size() - 1 ? "shard is gone" : "";
  try {
    comm->agree_on_error(mine);
    ADD_FAILURE() << "no error on rank " << comm->rank();
  } catch (Error const& error) {
    EXPECT_STREQ(error.what(), "shard is gone");
  }
}

TEST(Communicator, WorkDoneTogetherFailsOnAllRanksAndOneTells) {
  auto const comm = make_mpi_communicator();
  EXPECT_NO_THROW(comm->together([] {}));
  int const failing = comm->size() - 1;
  try {
    comm->together([&] {
      if (comm->rank() == failing) throw Error("no such file");
    });
    ADD_FAILURE() << "no error on rank " << comm->rank();
  } catch (CommonError& error) {
    EXPECT_EQ(error.told_here(), comm->rank() == failing);
    error.prepend("here: ");
    EXPECT_STREQ(error.what(), "here: no such file");
  }
}

TEST(Communicator, OneProcessOfAMachineClaimsAnError) {
  auto const comm = make_mpi_communicator();
  // The last one first, while the others are in another call.
  bool const last = comm->rank() == comm->size() - 1;
  bool const first_claim = last && comm->claim_error();
  comm->barrier();
  EXPECT_EQ(first_claim, last);
  EXPECT_FALSE(comm->claim_error());
}

TEST(Communicator, RefusesStridedTensors) {
  auto const comm = make_mpi_communicator();
  at::Tensor strided = at::zeros({4, 4}).t();
  EXPECT_THROW(comm->all_reduce(strided, ReduceOperation::sum), Error);
}

}  // namespace communicator_test
}  // namespace voxcycle
