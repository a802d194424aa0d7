// SPDX-License-Identifier: BSD-3-Clause
// main of every GPU test: status 77, which ctest calls Skipped, where no GPU can be used.
#include "voxcycle/core/device.hpp"

#include <cstdio>
#include <exception>

#include <gtest/gtest.h>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  try {
    voxcycle::require_cuda();
  } catch (std::exception const& error) {
    std::printf("skipped: %s\n", error.what());
    return 77;
  }
  return RUN_ALL_TESTS();
}
