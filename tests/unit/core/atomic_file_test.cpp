// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/atomic_file.hpp"

#include "voxcycle/core/error.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace voxcycle {
namespace atomic_file_test {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::string fresh_directory(std::string const& name) {
  auto const path = fs::path(VOXCYCLE_TEST_SCRATCH) / name;
  fs::remove_all(path);
  fs::create_directories(path);
  return path.string();
}

auto files_in(std::string const& directory) {
  return std::distance(fs::directory_iterator(directory), {});
}

void spit(fs::path const& path, std::string const& text) {
  std::ofstream(path) << text;
}

TEST(AtomicFile, WritesAndReplacesWholeFiles) {
  std::string const directory = fresh_directory("plain");
  std::string const path = directory + "/made/on/demand/a.txt";
  std::string const content("one\0two\n", 8);
  write_file_atomically(path, content);
  EXPECT_EQ(read_file(path), content);
  write_file_atomically(path, "");
  EXPECT_EQ(read_file(path), "");
  EXPECT_EQ(files_in(directory + "/made/on/demand"), 1);
}

TEST(AtomicFile, APathWithoutADirectoryIsInTheCurrentOne) {
  fs::path const before = fs::current_path();
  fs::current_path(fresh_directory("current"));
  write_file_atomically("here.txt", "x");
  EXPECT_EQ(read_file("here.txt"), "x");
  fs::current_path(before);
}

TEST(AtomicFile, NothingIsSeenBeforeTheEnd) {
  std::string const path = fresh_directory("unseen") + "/a.txt";
  write_file_atomically(path, "old");
  write_atomically(path, [&](std::string const& temporary) {
    EXPECT_NE(temporary, path);
    EXPECT_EQ(fs::path(temporary).parent_path(), fs::path(path).parent_path());
    write_file_atomically(temporary, "half");
    EXPECT_EQ(read_file(path), "old");
  });
  EXPECT_EQ(read_file(path), "half");
}

TEST(AtomicFile, TemporaryNamesCannotBeGuessed) {
  std::string const path = fresh_directory("names") + "/a.txt";
  std::string first, second;
  write_atomically(path, [&](std::string const& temporary) {
    first = temporary;
    EXPECT_TRUE(fs::exists(temporary)) << "made before others can put a link there";
    spit(temporary, "a");
  });
  write_atomically(path, [&](std::string const& temporary) {
    second = temporary;
    spit(temporary, "b");
  });
  EXPECT_NE(first, second);
  EXPECT_EQ(read_file(path), "b");
}

TEST(AtomicFile, LeftoversAreThoseThatNobodyWrites) {
  using namespace std::chrono_literals;
  std::string const directory = fresh_directory("leftovers");
  auto const age = [](fs::path const& path) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - 10s);
  };
  std::string const left = directory + "/a.h5.tmp-somewhere-12", link = directory + "/b.tmp-x-1";
  spit(left, "of a killed process");
  age(left);
  fs::create_symlink(directory + "/kept", link);
  write_atomically(directory + "/b.h5", [&](std::string const& temporary) {
    spit(temporary, "under way");
    age(temporary);
    remove_leftovers(directory);
    EXPECT_TRUE(fs::exists(temporary));
    EXPECT_FALSE(fs::exists(left));
    EXPECT_TRUE(fs::is_symlink(link));
  });
  spit(left, "this moment");
  remove_leftovers(directory);
  EXPECT_TRUE(fs::exists(left));
}

TEST(AtomicFile, AFailureKeepsTheOldFileAndLeavesNoOther) {
  std::string const directory = fresh_directory("failure");
  std::string const path = directory + "/a.txt";
  write_file_atomically(path, "old");
  auto const fails = [](std::string const& temporary) {
    write_file_atomically(temporary, "half");
    throw std::logic_error("stopped");
  };
  EXPECT_THAT([&] { write_atomically(path, fails); }, ThrowsMessage<std::logic_error>("stopped"));
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(files_in(directory), 1);
}

TEST(AtomicFile, AFullDiskIsReportedByTheSystemsText) {
  std::string const directory = fresh_directory("full");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit const small{1000, before.rlim_max};
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THAT([&] { write_file_atomically(directory + "/a", std::string(100000, 'x')); },
              ThrowsMessage<Error>(HasSubstr("cannot write " + directory + "/a: File too large")));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(files_in(directory), 0);
}

TEST(AtomicFile, OfFilesTogetherNoneAppearsWithoutTheOthers) {
  std::string const directory = fresh_directory("together");
  std::string const a = directory + "/a", b = directory + "/b";
  write_files_atomically({{a, "1"}, {b, "2"}});
  EXPECT_EQ(read_file(a) + read_file(b), "12");
  fs::remove(b);
  fs::create_directories(b);  // no file can be there
  EXPECT_THROW(write_files_atomically({{a, "3"}, {b, "4"}}), Error);
  EXPECT_EQ(read_file(a), "1");
  write_files_atomically({});
}

TEST(AtomicFile, PlacesThatCannotBeAreReported) {
  std::string const directory = fresh_directory("blocked");
  write_file_atomically(directory + "/file", "x");
  EXPECT_THAT([&] { write_file_atomically(directory + "/file/below", "x"); },
              ThrowsMessage<Error>(HasSubstr("cannot make the directory")));
  EXPECT_THAT([&] { read_file(directory + "/none"); },
              ThrowsMessage<Error>(HasSubstr("No such file or directory")));
  fs::create_directories(directory + "/is_directory/x");
  EXPECT_THROW(write_file_atomically(directory + "/is_directory", "x"), Error);
}

TEST(AtomicFile, SymbolicLinksAreFollowed) {
  std::string const directory = fresh_directory("links");
  std::string const disk = directory + "/other_disk";
  write_file_atomically(disk + "/a.txt", "old");
  fs::create_symlink("other_disk/a.txt", directory + "/near");
  fs::create_symlink(directory + "/near", directory + "/far");
  fs::create_symlink("other_disk/made/b.txt", directory + "/to_nothing");
  write_atomically(directory + "/far", [&](std::string const& temporary) {
    EXPECT_EQ(fs::path(temporary).parent_path(), fs::path(disk)) << "a rename stays on one disk";
    write_file_atomically(temporary, "new");
  });
  EXPECT_EQ(read_file(disk + "/a.txt"), "new");
  EXPECT_NO_THROW(require_writable(directory + "/to_nothing"));
  write_file_atomically(directory + "/to_nothing", "made");
  EXPECT_EQ(read_file(disk + "/made/b.txt"), "made");
  for (char const* link : {"/near", "/far", "/to_nothing"}) {
    EXPECT_TRUE(fs::is_symlink(directory + link)) << link;
  }
  EXPECT_EQ(files_in(disk), 2) << "a.txt and made";

  fs::create_symlink("round", directory + "/about");
  fs::create_symlink("about", directory + "/round");
  EXPECT_THAT([&] { write_file_atomically(directory + "/round", "x"); },
              ThrowsMessage<Error>(HasSubstr("in a circle")));
}

TEST(AtomicFile, WhatIsNoFileIsNotReplaced) {
  std::string const directory = fresh_directory("pipe");
  ASSERT_EQ(::mkfifo((directory + "/pipe").c_str(), 0666), 0);
  fs::create_symlink("pipe", directory + "/link");
  for (std::string const& path : {directory + "/pipe", directory + "/link"}) {
    auto const refusal = ThrowsMessage<Error>(
        AllOf(HasSubstr("cannot write " + path), HasSubstr("a pipe"), HasSubstr("Give a file's")));
    EXPECT_THAT([&] { write_file_atomically(path, "x"); }, refusal);
    EXPECT_THAT([&] { require_writable(path); }, refusal);
  }
  EXPECT_TRUE(fs::is_fifo(directory + "/pipe"));
  EXPECT_TRUE(fs::is_symlink(directory + "/link"));
  EXPECT_EQ(files_in(directory), 2);
  // No more than the look ahead: a fault here, run by root, would cost the machine its device.
  EXPECT_THAT([] { require_writable("/dev/null"); },
              ThrowsMessage<Error>(HasSubstr("cannot write /dev/null: it is a device")));
}

TEST(AtomicFile, LookingAheadTriesAndLeavesNothing) {
  std::string const directory = fresh_directory("ahead");
  EXPECT_NO_THROW(require_writable(directory + "/new/deeper/file"));
  EXPECT_NO_THROW(require_writable(directory + "/file"));
  EXPECT_EQ(files_in(directory), 0);
  // The name fits, that of the temporary file does not. Nor does root make files in /proc.
  for (auto const& path : {directory + "/" + std::string(254, 'a'), std::string("/proc/file"),
                           std::string("/proc/new/file")}) {
    EXPECT_THAT([&] { require_writable(path); },
                ThrowsMessage<Error>(HasSubstr("cannot write " + path)));
  }
}

TEST(AtomicFile, OurOwnOutputIsNotReplaced) {
  std::string const path = fresh_directory("output") + "/log.txt";
  std::fflush(stdout);
  int const before = ::dup(STDOUT_FILENO);
  int const log = ::open(path.c_str(), O_WRONLY | O_CREAT, 0666);
  ::dup2(log, STDOUT_FILENO);
  std::string refusal;
  try {
    write_file_atomically(path, "x");
  } catch (Error const& error) {
    refusal = error.what();
  }
  ::dup2(before, STDOUT_FILENO);
  ::close(before);
  ::close(log);
  EXPECT_THAT(refusal, AllOf(HasSubstr("cannot write " + path), HasSubstr("prints into")));
  EXPECT_EQ(read_file(path), "");
}

}  // namespace atomic_file_test
}  // namespace voxcycle
