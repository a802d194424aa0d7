// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/memory.hpp"

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace voxcycle {
namespace memory_test {

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
/// Pages of other parts of the program that come or go while a test runs.
constexpr std::int64_t kOthers = 8 * kMebibyte;

TEST(Memory, ResidentBytesFollowWhatIsTouched) {
  std::int64_t const before = resident_bytes();
  EXPECT_GT(before, 0);
  {
    std::vector<char> const block(64 * kMebibyte, 1);
    EXPECT_NEAR(resident_bytes() - before, 64 * kMebibyte, kOthers);
    EXPECT_EQ(block.back(), 1);
  }
  EXPECT_GE(resident_peak_bytes() - before, 64 * kMebibyte - kOthers);
}

TEST(Memory, MachineHasNoMoreThanTheSystemSays) {
  std::int64_t const physical = std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  EXPECT_LE(machine_memory_bytes(), physical);
  EXPECT_GT(machine_memory_bytes(), resident_bytes());
}

}  // namespace memory_test
}  // namespace voxcycle
