// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/train/waiting.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace waiting_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Waiting, LateAreThoseThatTheOthersWaitForLong) {
  EXPECT_THAT(late_processes({0.12, 0.0}), ElementsAre(1));
  EXPECT_THAT(late_processes({0.09, 0.0}), IsEmpty()) << "that is little";
  EXPECT_THAT(late_processes({0.3, 0.31, 0.29}), IsEmpty()) << "all wait alike, for one or another";
  EXPECT_THAT(late_processes({0.3, 0.02, 0.3, 0.0}), ElementsAre(3, 1)) << "two on a slow host";
  EXPECT_THAT(late_processes({}), IsEmpty());
}

TEST(Waiting, TextNamesTheLateOneAndItsHost) {
  EXPECT_EQ(waiting_text({{0.3, 0.0, 0.2}, {"east", "west", "east"}}),
            "waited for other processes:  process 1 0 %  process 2 20 %  process 0 30 %\n"
            "process 1 on west was late: the others waited 25 % of the time for it\n");
  EXPECT_THAT(waiting_text({{0.01, 0.0}, {"east", "west"}}), Not(HasSubstr("late")));
  EXPECT_EQ(waiting_text({}), "");
}

TEST(Waiting, TextOfManyProcessesIsShort) {
  Waiting const many{std::vector<double>(1000, 0.2), std::vector<std::string>(1000, "host")};
  EXPECT_THAT(waiting_text(many), HasSubstr("process 15 20 %  (and 984 longer)\n"));
}

}  // namespace waiting_test
}  // namespace voxcycle
