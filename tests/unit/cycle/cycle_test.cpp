// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/cycle/cycle.hpp"

#include "voxcycle/core/error.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace cycle_test {

/// Levels counted from 1, as the design writes them.
std::string path_of(std::string const& name, int levels) {
  std::string text;
  for (int level : make_path(name, levels)) text += std::to_string(level + 1) + " ";
  return text;
}

TEST(Cycle, PathsAreThoseOfTheDesign) {
  EXPECT_EQ(path_of("half_v", 4), "1 2 3 4 ");
  EXPECT_EQ(path_of("v", 4), "4 3 2 1 2 3 4 ");
  EXPECT_EQ(path_of("w", 4), "4 3 2 1 2 1 2 3 2 1 2 1 2 3 4 ");
  EXPECT_EQ(path_of("f", 4), "4 3 2 1 2 1 2 3 2 1 2 3 4 ");
}

TEST(Cycle, PathsStayWithinTheLevelsAndEndAtTheFinest) {
  for (auto const& name : cycle_names()) {
    for (int levels = 1; levels <= 8; ++levels) {
      auto const path = make_path(name, levels);
      EXPECT_EQ(path.back(), levels - 1);
      EXPECT_THAT(path, ::testing::Each(::testing::AllOf(::testing::Ge(0), ::testing::Lt(levels))));
      EXPECT_EQ(std::adjacent_find(path.begin(), path.end()), path.end()) << name << ' ' << levels;
    }
  }
}

TEST(Cycle, RefusesPathsThatLeaveTheLevels) {
  EXPECT_EQ(make_path("custom", 3, {0, 2, 1}), (LevelPath{0, 2, 1}));
  EXPECT_THROW(make_path("custom", 3, {0, 3}), Error);
  EXPECT_THROW(make_path("custom", 3, {}), Error);
  EXPECT_THROW(make_path("zigzag", 3), Error);
  EXPECT_THROW(make_path("v", 0), Error);
}

TEST(Cycle, RefusesAPathThatItsNameWouldIgnore) {
  for (auto const& name : cycle_names()) {
    EXPECT_THAT(
        [&] {
          static_cast<void>(make_path(name, 3, {0, 2}));
        },
        ::testing::ThrowsMessage<Error>(::testing::HasSubstr("Set cycle.name = custom")))
        << name;
  }
}

}  // namespace cycle_test
}  // namespace voxcycle
