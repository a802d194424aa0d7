// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/control_groups.hpp"

#include <fstream>

#include <gtest/gtest.h>

namespace voxcycle {
namespace control_groups_test {

namespace fs = std::filesystem;

class ControlGroups : public ::testing::Test {
 protected:
  ControlGroups() {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~ControlGroups() override { fs::remove_all(root_); }

  void write(std::string const& path, std::string const& content) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << content;
  }
  std::vector<fs::path> groups(std::string const& controller) const {
    return control_groups(controller, root_ / "table", root_);
  }

 private:
  fs::path const root_ = fs::path(::testing::TempDir()) /
                         ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(ControlGroups, OfVersion2LimitByTheLeastOfAllAbove) {
  write("table", "0::/job/step\n");
  write("job/step/memory.max", "max\n");
  write("job/memory.max", "5000\n");
  write("memory.max", "7000\n");
  write("job/step/cpu.max", "max 100000\n");
  write("job/cpu.max", "150000 100000\n");
  EXPECT_EQ(memory_limit(groups("memory")), 5000);
  EXPECT_EQ(cpu_limit(groups("cpu")), 1.5);
}

TEST_F(ControlGroups, OfVersion1HaveAFolderAController) {
  write("table", "6:memory:/job\n5:cpu,cpuacct:/job\n4:cpuset:/\n");
  write("memory/job/memory.limit_in_bytes", "4096\n");
  write("memory.limit_in_bytes", "1\n");  // of nobody
  write("cpu/job/cpu.cfs_quota_us", "-1\n");
  write("cpu/job/cpu.cfs_period_us", "100000\n");
  write("cpu/cpu.cfs_quota_us", "50000\n");
  write("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(memory_limit(groups("memory")), 4096);
  EXPECT_EQ(cpu_limit(groups("cpu")), 0.5);
}

TEST_F(ControlGroups, WithoutLimitsLimitNothing) {
  write("table", "0::/\n");
  write("cpu.max", "max 100000\n");
  EXPECT_FALSE(memory_limit(groups("memory")).has_value());
  EXPECT_FALSE(cpu_limit(groups("cpu")).has_value());
  EXPECT_TRUE(control_groups("cpu", "/not/there").empty());
}

}  // namespace control_groups_test
}  // namespace voxcycle
