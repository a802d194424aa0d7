// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/launcher.hpp"

#include <cstdlib>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace voxcycle {
namespace launcher_test {

using Variables = std::map<std::string, std::string>;

/// What strangers() finds in an environment with these variables of launchers alone.
std::optional<Strangers> found_in(Variables const& variables) {
  for (auto const& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  auto const found = strangers();
  for (auto const& [name, value] : variables) ::unsetenv(name.c_str());
  return found;
}

Variables const kTorchrun{
    {"RANK", "1"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}, {"MASTER_ADDR", "localhost"}};
Variables const kSrun{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "3"}, {"SLURM_STEP_NUM_TASKS", "3"}};

Variables with(Variables variables, std::string const& name, std::string const& value) {
  variables[name] = value;
  return variables;
}

Variables without(Variables variables, std::string const& name) {
  variables.erase(name);
  return variables;
}

TEST(Launcher, KnowsProcessesThatDoNotMeet) {
  EXPECT_EQ(found_in(kTorchrun), (Strangers{"torchrun", 4, false}));
  EXPECT_EQ(found_in(with(kTorchrun, "RANK", "0")), (Strangers{"torchrun", 4, true}));
  EXPECT_EQ(found_in(kSrun), (Strangers{"srun", 3, true}));
  EXPECT_EQ(found_in(with(kSrun, "SLURM_PROCID", "2")), (Strangers{"srun", 3, false}));
}

TEST(Launcher, OneProcessAloneMissesNobody) {
  EXPECT_FALSE(found_in({}));
  EXPECT_FALSE(found_in(with(kTorchrun, "WORLD_SIZE", "1")));
  EXPECT_FALSE(found_in(with(kSrun, "SLURM_STEP_NUM_TASKS", "1")));
  // A batch script is one process, whatever the tasks that its job may start.
  EXPECT_FALSE(found_in(without(kSrun, "SLURM_STEP_NUM_TASKS")));
  // Variables of these names need not be torchrun's.
  EXPECT_FALSE(found_in(without(kTorchrun, "MASTER_ADDR")));
  EXPECT_FALSE(found_in(without(kTorchrun, "LOCAL_RANK")));
}

TEST(Launcher, ProcessesOfMpiMeet) {
  for (auto const& environment : {kTorchrun, kSrun}) {
    EXPECT_FALSE(found_in(with(environment, "OMPI_COMM_WORLD_SIZE", "4")));
    EXPECT_FALSE(found_in(with(environment, "PMIX_RANK", "0")));
  }
}

TEST(Launcher, SaysHowManyProcessesItStarted) {
  EXPECT_FALSE(launched_processes());
  ::setenv("SLURM_STEP_NUM_TASKS", "3", 1);
  EXPECT_EQ(launched_processes(), 3);
  ::setenv("OMPI_COMM_WORLD_SIZE", "2", 1);  // mpirun in a step of srun
  EXPECT_EQ(launched_processes(), 2);
  ::unsetenv("OMPI_COMM_WORLD_SIZE");
  ::unsetenv("SLURM_STEP_NUM_TASKS");
}

}  // namespace launcher_test
}  // namespace voxcycle
