// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/instruction_set.hpp"

#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace voxcycle {
namespace instruction_set_test {

TEST(InstructionSet, IsWhatTheKernelSaysOfTheProcessor) {
  std::ifstream in("/proc/cpuinfo");
  std::string const text{std::istreambuf_iterator<char>(in), {}};
  if (text.find("\nflags") == std::string::npos) GTEST_SKIP() << "no flags in /proc/cpuinfo";
  auto const has = [&](std::string const& flag) {
    return text.find(" " + flag + " ") != std::string::npos;
  };
  EXPECT_EQ(supported(InstructionSet::avx2), has("avx2") && has("fma"));
  EXPECT_EQ(supported(InstructionSet::avx512),
            has("avx512f") && has("avx512vl") && has("avx512bw") && has("avx512dq"));
}

TEST(InstructionSet, TheBestIsTheWidestSupported) {
  EXPECT_TRUE(supported(InstructionSet::baseline));
  auto const best = best_instruction_set();
  EXPECT_TRUE(supported(best));
  for (auto wider : {InstructionSet::avx2, InstructionSet::avx512}) {
    if (wider > best) {
      EXPECT_FALSE(supported(wider));
    }
  }
}

}  // namespace instruction_set_test
}  // namespace voxcycle
