// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/device_choice.hpp"

#include "voxcycle/core/device.hpp"
#include "voxcycle/core/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace device_choice_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// So many processes on a machine that shows its GPUs to all of them.
std::vector<std::string> alike(int processes) {
  return std::vector<std::string>(static_cast<std::size_t>(processes), "a, b, c, d");
}

TEST(GpuShare, GoesRoundTheGpus) {
  EXPECT_EQ(gpu_share(alike(1), 0, 4).device, 0);
  EXPECT_EQ(gpu_share(alike(4), 3, 4).device, 3);
  EXPECT_EQ(gpu_share(alike(6), 5, 4).device, 1);
}

TEST(GpuShare, BeginsAnewOnEachMachine) {
  std::vector<std::string> const seen{"a, b", "a, b", "a, b", "c, d", "c, d"};
  EXPECT_EQ(gpu_share(seen, 2, 2).device, 0);
  EXPECT_EQ(gpu_share(seen, 2, 2).processes, 2);
  EXPECT_EQ(gpu_share(seen, 3, 2).device, 0);
  EXPECT_EQ(gpu_share(seen, 3, 2).processes, 1);
  EXPECT_EQ(gpu_share(seen, 4, 2).device, 1);
  EXPECT_EQ(gpu_share(seen, 4, 2).processes, 1);
}

TEST(GpuShare, KnowsGpusThatOneProcessAloneSees) {
  std::vector<std::string> const seen{"a", "b", "c"};
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(gpu_share(seen, rank, 1).device, 0);
    EXPECT_EQ(gpu_share(seen, rank, 1).processes, 1);
  }
}

TEST(GpuShare, CountsTheProcessesOfAGpu) {
  for (int processes = 1; processes < 12; ++processes) {
    for (int gpus = 1; gpus < 6; ++gpus) {
      std::vector<int> expected(static_cast<std::size_t>(gpus), 0);
      for (int p = 0; p < processes; ++p) ++expected[static_cast<std::size_t>(p % gpus)];
      for (int p = 0; p < processes; ++p) {
        auto const share = gpu_share(alike(processes), p, gpus);
        EXPECT_EQ(share.processes, expected[static_cast<std::size_t>(share.device)]);
      }
    }
  }
}

TEST(DeviceChoice, IsTheCpuUnlessAskedForMore) {
  auto const comm = make_self_communicator();
  DeviceChoice place({}, *comm);
  EXPECT_TRUE(place.device().is_cpu());
  EXPECT_EQ(place.memory(), 0);
  EXPECT_EQ(&place.comm(), comm.get());
}

TEST(DeviceChoice, RefusesOrPassesOverGpusThatAreNotThere) {
  if (cuda_problem(cuda_report()).empty()) GTEST_SKIP() << "there is one";
  auto const comm = make_self_communicator();
  using Kind = DeviceOptions::Kind;
  EXPECT_TRUE(DeviceChoice({.kind = Kind::automatic}, *comm).device().is_cpu());
  EXPECT_THAT([&] { DeviceChoice const place({.kind = Kind::cuda}, *comm); },
              ThrowsMessage<Error>(HasSubstr("GPU: ")));
}

}  // namespace device_choice_test
}  // namespace voxcycle
