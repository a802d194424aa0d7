// SPDX-License-Identifier: BSD-3-Clause
#include "bench/link_speed.hpp"

#include "voxcycle/core/atomic_file.hpp"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace voxcycle {
namespace link_speed_test {

TEST(LinkSpeed, IsThatOfTheFastestCardThatTellsIt) {
  std::string const system = std::string(VOXCYCLE_TEST_SCRATCH) + "/class";
  std::filesystem::remove_all(system);
  EXPECT_EQ(fastest_link(system), 0.0) << "nothing is there";
  std::filesystem::create_directories(system + "/net/lo");    // tells nothing
  write_file_atomically(system + "/net/eth0/speed", "-1\n");  // down
  EXPECT_EQ(fastest_link(system), 0.0);
  write_file_atomically(system + "/net/eth1/speed", "25000\n");
  EXPECT_EQ(fastest_link(system), 25e9);
  write_file_atomically(system + "/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
  EXPECT_EQ(fastest_link(system), 100e9);
}

}  // namespace link_speed_test
}  // namespace voxcycle
