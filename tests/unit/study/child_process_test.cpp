// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/study/child_process.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace voxcycle {
namespace child_process_test {

using namespace std::chrono_literals;
using Words = std::vector<std::string>;

/// Far longer than any of these shells takes on a busy machine.
constexpr auto kPatience = 20s;

std::string scratch(std::string const& name) {
  std::filesystem::create_directories(VOXCYCLE_TEST_SCRATCH);
  return std::string(VOXCYCLE_TEST_SCRATCH) + "/" + name;
}

bool appears(std::string const& path) {
  auto const end = std::chrono::steady_clock::now() + kPatience;
  while (!std::filesystem::exists(path)) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

Words shell(std::string const& script) {
  return {"sh", "-c", script};
}

/// Makes `begun`, waits, and makes `stopped` and ends with 5 when asked to stop.
Words patient_command(std::string const& begun, std::string const& stopped) {
  return shell("trap 'touch " + stopped + "; exit 5' USR1; touch " + begun +
               "; while true; do sleep 0.05; done");
}

TEST(ChildProcess, OutputGoesToTheLogAndTheStatusComesBack) {
  auto const log = scratch("output.txt");
  EXPECT_EQ(ChildProcess(shell("echo out; echo err >&2; cat; exit 7"), log).wait(), 7);
  EXPECT_EQ(read_file(log), "out\nerr\n");
  EXPECT_EQ(ChildProcess({"true"}, log).wait(), 0);
  EXPECT_EQ(read_file(log), "");
  EXPECT_EQ(ChildProcess(shell("kill -9 $$"), log).wait(), 128 + SIGKILL);
}

TEST(ChildProcess, RefusesALogThatCannotBe) {
  EXPECT_THROW(ChildProcess({"true"}, scratch("nowhere") + "/log"), Error);
}

TEST(ChildProcess, StopsWhenAsked) {
  auto const begun = scratch("begun-1");
  auto const stopped = scratch("stopped-1");
  std::filesystem::remove(begun);
  std::filesystem::remove(stopped);
  ChildProcess child(patient_command(begun, stopped), scratch("log-1"));
  ASSERT_TRUE(appears(begun));
  EXPECT_FALSE(child.poll());
  child.request_stop();
  EXPECT_EQ(child.wait(), 5);
  EXPECT_EQ(child.poll(), 5);
  EXPECT_TRUE(std::filesystem::exists(stopped));
}

TEST(ChildProcess, StopsWithItsObjectAndWithItsParent) {
  for (bool const parent_dies : {false, true}) {
    auto const begun = scratch("begun-2");
    auto const stopped = scratch("stopped-2");
    std::filesystem::remove(begun);
    std::filesystem::remove(stopped);
    auto const start_and_leave = [&] {
      ChildProcess const child(patient_command(begun, stopped), scratch("log-2"));
      EXPECT_TRUE(appears(begun));
      if (parent_dies) ::raise(SIGKILL);
    };
    if (parent_dies) {
      pid_t const parent = ::fork();
      if (parent == 0) start_and_leave();
      ::waitpid(parent, nullptr, 0);
    } else {
      start_and_leave();
    }
    EXPECT_TRUE(appears(stopped)) << (parent_dies ? "parent" : "object");
  }
}

TEST(ChildProcess, IsOutOfReachOfSignalsToThisGroup) {
  auto const log = scratch("group.txt");
  ChildProcess(shell("ps -o pgid= -p $$"), log).wait();
  EXPECT_NE(std::stoi(read_file(log)), ::getpgrp());
}

TEST(ChildProcess, WordsComeThroughAsTheyAre) {
  auto const log = scratch("word.txt");
  std::string const nasty = "a b  c'd\"e$HOME`ls`\\n*;|&<>()#~";
  ChildProcess({"printf", "%s", nasty}, log).wait();
  EXPECT_EQ(read_file(log), nasty);
}

TEST(ChildProcess, WhatCannotBeStartedEndsLikeAShells) {
  auto const log = scratch("unknown.txt");
  EXPECT_EQ(ChildProcess({"no-such-program"}, log).wait(), 127);
  EXPECT_EQ(ChildProcess({"env", "no-such-program"}, log).wait(), 127);
  EXPECT_NE(read_file(log).find("no-such-program"), std::string::npos);
}

TEST(LauncherWords, AreThoseOfAShellWithoutItsOtherSigns) {
  EXPECT_EQ(launcher_words(" srun\t--mpi=pmix  -n 3 "), (Words{"srun", "--mpi=pmix", "-n", "3"}));
  EXPECT_EQ(launcher_words(R"('a b'c "d 'e' \"f" '' 'g\h' i\ j)"),
            (Words{"a bc", "d 'e' \"f", "", "g\\h", "i j"}));
  EXPECT_EQ(launcher_words("a;b $HOME `c` >d|e & *"),
            (Words{"a;b", "$HOME", "`c`", ">d|e", "&", "*"}));
  EXPECT_TRUE(launcher_words("  ").empty());
  EXPECT_THROW(launcher_words("mpirun 'a b"), Error);
  EXPECT_THROW(launcher_words("mpirun \"a' b"), Error);
}

TEST(OwnCommand, PutsTheNumberOfProcessesIntoTheLauncher) {
  auto const program = std::filesystem::read_symlink("/proc/self/exe").string();
  EXPECT_EQ(
      own_command("mpirun -n {} '-x A'", 3, 2, {"train", "a b"}),
      (Words{"env", "OMP_NUM_THREADS=2", "mpirun", "-n", "3", "-x A", program, "train", "a b"}));
  EXPECT_EQ(own_command("", 1, 4, {}), (Words{"env", "OMP_NUM_THREADS=4", program}));
  EXPECT_THROW(own_command("mpirun", 2, 1, {}), Error);
  EXPECT_THROW(own_command(kLauncher, 1 << 20, 1, {}), Error);  // 128 TiB
  EXPECT_NO_THROW(own_command("srun -n {}", 1 << 20, 1, {}));
}

TEST(OwnCommand, HidesTheLauncherOfThisProcessFromItsChildren) {
  ::setenv("SLURM_STEP_NUM_TASKS", "2", 1);
  ::setenv("OMPI_MCA_pmix", "a setting", 1);  // no launcher's, as there is none
  auto const command = own_command("", 1, 1, {});
  ::unsetenv("SLURM_STEP_NUM_TASKS");
  ::unsetenv("OMPI_MCA_pmix");
  EXPECT_EQ(Words(command.begin(), command.end() - 1),
            (Words{"env", "-u", "SLURM_STEP_NUM_TASKS", "OMP_NUM_THREADS=1"}));
}

/// What is no launcher's word reaches the program; a shell would run it.
TEST(OwnCommand, NoShellReadsTheLauncher) {
  auto const made = scratch("made-by-a-shell");
  std::filesystem::remove(made);
  auto command = own_command("echo {}; touch " + made, 1, 1, {});
  command.pop_back();
  EXPECT_EQ(ChildProcess(command, scratch("echo.txt")).wait(), 0);
  EXPECT_EQ(read_file(scratch("echo.txt")), "1; touch " + made + "\n");
  EXPECT_FALSE(std::filesystem::exists(made));
}

TEST(LastLines, AreAllOfAShortFile) {
  auto const path = scratch("lines.txt");
  write_file_atomically(path, "1\n2\n3\n");
  EXPECT_EQ(last_lines(path, 2), "2\n3\n");
  EXPECT_EQ(last_lines(path, 9), "1\n2\n3\n");
  EXPECT_EQ(last_lines(scratch("none.txt"), 2), "");
}

}  // namespace child_process_test
}  // namespace voxcycle
