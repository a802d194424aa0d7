// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/log.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace voxcycle {
namespace log_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::ThrowsMessage;

constexpr char kTime[] = "\\[[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\\] ";

std::string fresh_directory(std::string const& name) {
  auto const path = fs::path(VOXCYCLE_TEST_SCRATCH) / name;
  fs::remove_all(path);
  fs::create_directories(path);
  return path.string();
}

/// A process has one log: each test, and each rank, gets a process of its own.
void in_child(std::function<void()> const& work) {
  pid_t const child = ::fork();
  if (child == 0) {
    work();
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

/// What rank `rank` of three does.
void in_rank(int rank, LogOptions const& options, std::function<void()> const& work) {
  in_child([&] {
    log_set_rank(rank, 3);
    log_to_file(options);
    work();
  });
}

TEST(Log, AppendsLinesToItsFile) {
  auto const path = fresh_directory("alone") + "/made/on/demand/log.txt";
  for (int session = 0; session < 2; ++session) {
    in_child([&] {
      log_to_file({.file = path});
      log_info("one {}");
      log_warning("two");
    });
  }
  std::string const lines =
      std::string(kTime) + "\\[info\\] one \\{\\}\n" + kTime + "\\[warning\\] two\n";
  EXPECT_THAT(read_file(path), MatchesRegex(lines + lines));
}

TEST(Log, OfTheMasterHasTheWarningsOfOthers) {
  LogOptions const options{.mode = LogMode::master, .file = fresh_directory("master") + "/log.txt"};
  auto const speak = [] {
    log_info("an info");
    log_warning("a warning");
  };
  in_rank(1, options, speak);
  EXPECT_FALSE(fs::exists(options.file)) << "another machine's directory";
  in_rank(0, options, speak);
  in_rank(1, options, speak);
  EXPECT_THAT(read_file(options.file),
              MatchesRegex(std::string(kTime) + "\\[info\\] rank 0: an info\n" + kTime +
                           "\\[warning\\] rank 0: a warning\n" + kTime +
                           "\\[warning\\] rank 1: a warning\n"));
}

TEST(Log, CollectsWholeLinesOfProcessesThatWriteAtOnce) {
  LogOptions const options{.mode = LogMode::collect, .file = fresh_directory("all") + "/log.txt"};
  constexpr int kLines = 200;
  std::string const text(5000, 'x');  // more than one page
  in_child([&] {
    std::vector<pid_t> children;
    for (int rank = 0; rank < 3; ++rank) {
      children.push_back(::fork());
      if (children.back() != 0) continue;
      log_set_rank(rank, 3);
      log_to_file(options);
      if (std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(1);
      for (int k = 0; k < kLines; ++k) log_info(text);
      ::_exit(0);
    }
    for (pid_t const child : children) ::waitpid(child, nullptr, 0);
  });
  std::ifstream in(options.file);
  std::array<int, 3> counts{};
  for (std::string line; std::getline(in, line);) {
    auto const at = line.find("[info] rank ");
    ASSERT_NE(at, std::string::npos) << line.substr(0, 60);
    ++counts.at(static_cast<std::size_t>(line.at(at + 12) - '0'));
    EXPECT_EQ(line.substr(at + 15), text);
  }
  EXPECT_EQ(counts, (std::array{kLines, kLines, kLines}));
}

TEST(Log, OfAWorkerStandsBesideTheMasters) {
  auto const directory = fresh_directory("workers");
  LogOptions const options{.mode = LogMode::workers, .file = directory + "/a.run.txt"};
  for (int rank : {0, 2}) {
    in_rank(rank, options, [] {
      log_info("an info");
      log_error("an error");
    });
  }
  EXPECT_THAT(read_file(directory + "/a.run.2.txt"),
              AllOf(HasSubstr("rank 2: an info"), HasSubstr("rank 2: an error")));
  EXPECT_THAT(read_file(options.file),
              MatchesRegex(".*rank 0: an info\n.*rank 0: an error\n.*rank 2: an error\n"));
}

TEST(Log, ThatCannotBeWrittenIsNamed) {
  auto const directory = fresh_directory("blocked");
  EXPECT_THAT([&] { log_to_file({.file = directory}); },
              ThrowsMessage<Error>(AllOf(HasSubstr("cannot write the log " + directory),
                                         HasSubstr("Is a directory"), HasSubstr("log.file"))));
}

TEST(Log, DoesNotFollowALink) {
  auto const directory = fresh_directory("linked");
  fs::create_symlink(directory + "/elsewhere", directory + "/log.txt");
  EXPECT_THAT([&] { log_to_file({.file = directory + "/log.txt"}); },
              ThrowsMessage<Error>(HasSubstr("log.txt is a symbolic link")));
  EXPECT_FALSE(fs::exists(directory + "/elsewhere"));
}

}  // namespace log_test
}  // namespace voxcycle
