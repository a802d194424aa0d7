// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/waiting.hpp"

#include "voxcycle/core/host.hpp"

#include <chrono>
#include <filesystem>
#include <thread>

#include "training_runs.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace waiting_test {

using ::testing::Each;
using ::testing::IsEmpty;

constexpr double kRounding = 1e-12;  // of sums of a few times

TEST(WaitingCount, WaitingIsWhatAProcessIsLongerInTheCallsOfAStepThanTheLastToCome) {
  auto const comm = make_mpi_communicator();
  int const rank = comm->rank(), size = comm->size();
  WaitingCount count(*comm);
  EXPECT_THAT(count.recent(), IsEmpty()) << "no step";
  // Rank 0 is the late one of the first step and the last rank that of the second.
  count.add(10.0, {{"", 0.0, 1.0}, {"", 2.0, 0.5 * rank}});
  count.add(10.0, {{"", 0.0, 1.0 + 0.5 * (size - 1 - rank)}});
  auto const shares = count.recent();
  if (size == 1) {
    EXPECT_THAT(shares, IsEmpty()) << "it waits for nobody";
    EXPECT_THAT(count.total().shares, IsEmpty());
    return;
  }
  EXPECT_EQ(shares.size(), static_cast<std::size_t>(size));
  EXPECT_THAT(shares, Each(::testing::DoubleNear(0.5 * (size - 1) / 20.0, kRounding)));
  EXPECT_THAT(count.recent(), IsEmpty()) << "told already";
  count.add(20.0, {});
  EXPECT_THAT(count.recent(), Each(0.0));
  Waiting const total = count.total();
  EXPECT_THAT(total.shares, Each(::testing::DoubleNear(0.5 * (size - 1) / 40.0, kRounding)));
  EXPECT_EQ(total.hosts, std::vector<std::string>(static_cast<std::size_t>(size), host_name()));
}

TEST(WaitingCount, TheProcessThatComesLateToTheStepsOfATrainingIsNamed) {
  auto const comm = make_mpi_communicator();
  if (comm->size() == 1) GTEST_SKIP() << "nobody waits for it";
  std::string const root = scratch(*comm);
  if (comm->rank() == 0) {
    std::filesystem::remove_all(root);
    write_data(root + "/data");
  }
  comm->barrier();
  auto options = options_for(root, "late");
  int const late = comm->size() - 1;
  options.after_step = [&](StepView const&) {  // many times longer than a step takes
    if (comm->rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  };
  Waiting const waiting = train(options, *comm).waiting;
  EXPECT_EQ(waiting.shares.size(), static_cast<std::size_t>(comm->size()));
  EXPECT_EQ(late_processes(waiting.shares), std::vector<int>{late});
  std::string const name = "process " + std::to_string(late) + " on " + host_name();
  EXPECT_THAT(waiting_text(waiting), ::testing::HasSubstr(name + " was late"));
  comm->barrier();
}

}  // namespace waiting_test
}  // namespace voxcycle
