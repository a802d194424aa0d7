// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/is_there.hpp"

#include "voxcycle/core/error.hpp"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace is_there_test {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(IsThere, WhatCannotBeReachedIsNotSaidToBeMissing) {
  auto const directory = std::string(VOXCYCLE_TEST_SCRATCH) + "/is_there";
  fs::remove_all(directory);
  fs::create_directories(directory);
  EXPECT_TRUE(is_there(directory));
  EXPECT_FALSE(is_there(directory + "/none"));
  fs::create_symlink("none", directory + "/dead");
  EXPECT_FALSE(is_there(directory + "/dead"));
  fs::create_symlink("round", directory + "/round");
  EXPECT_THAT([&] { is_there(directory + "/round"); },
              ThrowsMessage<Error>(HasSubstr("/round: cannot be reached (Too many levels of")));
  EXPECT_THAT([&] { is_there("/proc/self/exe/x"); },
              ThrowsMessage<Error>(HasSubstr("(Not a directory)")));
}

}  // namespace is_there_test
}  // namespace voxcycle
