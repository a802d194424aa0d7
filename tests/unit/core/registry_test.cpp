// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace registry_test {

Registry<int> const kNumbers{"number", {{"two", 2}, {"one", 1}}};

TEST(Registry, FindsWhatNamesStandFor) {
  EXPECT_EQ(kNumbers.at("one"), 1);
  EXPECT_EQ(kNumbers.at("two"), 2);
  EXPECT_EQ(kNumbers.find("two"), &kNumbers.at("two"));
  EXPECT_EQ(kNumbers.find("tw"), nullptr);
}

TEST(Registry, NamesStandInTheOrderOfTheList) {
  EXPECT_THAT(kNumbers.names(), ::testing::ElementsAre("two", "one"));
}

TEST(Registry, SaysWhichNamesThereAre) {
  EXPECT_THAT(
      [] { kNumbers.at("three"); },
      ::testing::ThrowsMessage<Error>("number 'three' is unknown. Choose one of two, one."));
}

}  // namespace registry_test
}  // namespace voxcycle
