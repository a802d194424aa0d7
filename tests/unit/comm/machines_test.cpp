// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/machines.hpp"

#include "voxcycle/comm/threads.hpp"
#include "voxcycle/core/host.hpp"

#include <limits>

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace machines_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kNoLimit = std::numeric_limits<int>::max();

ProcessPlace on(std::string const& host, std::string const& core_mask, int threads,
                double clock = 100.0, int limit = kNoLimit) {
  return {host, core_mask, limit, threads, clock};
}

TEST(Machines, AreTheHostsInTheOrderOfTheirFirstRanks) {
  auto const machines = machines_of({on("b", "1100", 2), on("a", "11", 1), on("b", "0110", 1)});
  ASSERT_EQ(machines.size(), 2U);
  EXPECT_EQ(describe(machines[0]), "b (2 processes, 3 threads, 3 cores)");
  EXPECT_EQ(describe(machines[1]), "a (1 process, 1 thread, 2 cores)");
}

TEST(Machines, HaveNoMoreCoresThanTheirControlGroupAllows) {
  EXPECT_EQ(machines_of({on("a", "1111", 1, 100.0, 2)}).at(0).cores, 2);
}

TEST(Machines, ThatAreUsedWellHaveNoWarnings) {
  EXPECT_THAT(warnings_of(machines_of({on("a", "1111", 4), on("b", "11", 1), on("b", "11", 1)})),
              IsEmpty());
  // Three processes cannot share out a fourth core.
  auto const three = on("a", "1111", 1);
  EXPECT_THAT(warnings_of(machines_of({three, three, three})), IsEmpty());
}

TEST(Machines, WithTooManyThreadsAreNamed) {
  EXPECT_THAT(warnings_of(machines_of({on("a", "11", 2), on("a", "11", 2), on("b", "1", 1)})),
              ElementsAre(AllOf(HasSubstr("4 threads on a"), HasSubstr("on 2 cores"))));
}

TEST(Machines, WithIdleCoresAreNamed) {
  auto const machines = machines_of({on("b", "1", 1), on("a", "1111", 1)});
  EXPECT_THAT(warnings_of(machines),
              ElementsAre(HasSubstr("1 thread on a leaves 3 of its 4 cores idle")));
  EXPECT_THAT(warnings_of(machines, IdleCores::are_fine), IsEmpty());
}

TEST(Machines, WhoseClocksAreApartAreNamed) {
  EXPECT_THAT(warnings_of(machines_of({on("a", "1", 1, 100.0), on("b", "1", 1, 100.9),
                                       on("c", "1", 1, 97.5), on("d", "1", 1, 3700.0)})),
              ElementsAre(HasSubstr("the clock of c is 2.5 s behind that of a"),
                          HasSubstr("the clock of d is 1 h 00 min ahead of that of a")));
}

TEST(Machines, OfOneProcessIsThisOne) {
  auto const machines = machines_of(*make_self_communicator());
  ASSERT_EQ(machines.size(), 1U);
  EXPECT_EQ(machines[0].host, host_name());
  EXPECT_EQ(machines[0].processes, 1);
  EXPECT_EQ(machines[0].threads, at::get_num_threads());
  EXPECT_EQ(machines[0].cores, cores());
  EXPECT_EQ(machines[0].clock_ahead, 0.0);
}

}  // namespace machines_test
}  // namespace voxcycle
