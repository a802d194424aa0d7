// SPDX-License-Identifier: BSD-3-Clause
// The program that is run is this test itself, with one of the tests below that are disabled.
#include "voxcycle/study/runner.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace voxcycle {
namespace runner_test {

TEST(Child, DISABLED_Succeeds) {}
TEST(Child, DISABLED_Fails) {
  std::puts("what went wrong");
  std::fflush(stdout);
  std::_Exit(7);
}
TEST(Child, DISABLED_Waits) {
  std::this_thread::sleep_for(std::chrono::seconds(60));
}

std::vector<std::string> arguments(std::string const& test) {
  return {"--gtest_also_run_disabled_tests", "--gtest_filter=Child.DISABLED_" + test};
}

ProgramRun run_of(std::string const& test) {
  std::filesystem::create_directories(VOXCYCLE_TEST_SCRATCH);
  return {arguments(test), std::string(VOXCYCLE_TEST_SCRATCH) + "/" + test, /*launcher=*/""};
}

TEST(RunAll, TellsHowEachEnded) {
  std::vector<std::string> const tests{"Succeeds", "Fails", "Succeeds"};
  std::map<std::size_t, int> statuses;
  bool const stopped = run_all(
      tests.size(), 2, [&](std::size_t k) { return run_of(tests[k]); },
      [&](EndedRun const& ended) {
        EXPECT_FALSE(ended.stopped);
        EXPECT_GT(ended.seconds, 0.0);
        statuses[ended.number] = ended.status;
      });
  EXPECT_FALSE(stopped);
  EXPECT_EQ(statuses, (std::map<std::size_t, int>{{0, 0}, {1, 7}, {2, 0}}));
  EXPECT_THAT(read_file(run_of("Fails").log), ::testing::HasSubstr("what went wrong"));
}

TEST(RunAll, StopsAllAndStartsNoMore) {
  std::vector<std::size_t> started, ended;
  bool const stopped = run_all(
      3, 2,
      [&](std::size_t k) {
        started.push_back(k);
        if (k == 1) ::raise(SIGUSR1);
        return run_of("Waits");
      },
      [&](EndedRun const& run) {
        EXPECT_TRUE(run.stopped);
        EXPECT_EQ(run.status, 128 + SIGUSR1);
        ended.push_back(run.number);
      });
  EXPECT_TRUE(stopped);
  EXPECT_THAT(started, ::testing::ElementsAre(0, 1));
  EXPECT_THAT(ended, ::testing::UnorderedElementsAre(0, 1));
}

TEST(ScratchRuns, RunWithTheConfigAndNameWhatFailed) {
  Config config;
  config.set("run.directory", VOXCYCLE_TEST_SCRATCH);
  config.set("run.seed", "17");
  ScratchRuns const runs(config, ".scratch", "", 1);
  EXPECT_NO_THROW(runs.run("good.log", 1, arguments("Succeeds")));
  EXPECT_THAT(read_file(runs.file("config.cfg")), ::testing::HasSubstr("seed = 17"));
  try {
    runs.run("bad.log", 1, arguments("Fails"));
    ADD_FAILURE() << "no error";
  } catch (Error const& error) {
    EXPECT_THAT(error.what(),
                ::testing::AllOf(::testing::HasSubstr("the run on 1 processes failed"),
                                 ::testing::HasSubstr("what went wrong")));
  }
}

}  // namespace runner_test
}  // namespace voxcycle
