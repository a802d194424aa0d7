// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/directory_lock.hpp"

#include "voxcycle/core/atomic_file.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/host.hpp"

#include <filesystem>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

namespace voxcycle {
namespace directory_lock_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

std::string const directory = std::string(VOXCYCLE_TEST_SCRATCH) + "/locked";

TEST(DirectoryLock, IsHeldByOneAtATime) {
  std::filesystem::remove_all(directory);
  {
    DirectoryLock const lock(directory, "run.directory");
    EXPECT_THAT(
        [] { DirectoryLock(directory, "run.directory"); },
        ThrowsMessage<Error>(AllOf(HasSubstr("is in use by process " + std::to_string(::getpid())),
                                   HasSubstr(" on " + host_name() + ". Wait"),
                                   HasSubstr("another run.directory."), Not(HasSubstr("remove")))));
  }
  EXPECT_EQ(read_file(directory + "/.lock"), "");
  DirectoryLock const again(directory, "run.directory");
}

TEST(DirectoryLock, OfAMachineThatIsGoneCanBeRemoved) {
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  std::string const path = directory + "/.lock", holder = "process 12 on somewhere-else";
  int const file = ::open(path.c_str(), O_RDWR | O_CREAT, 0644);
  ASSERT_EQ(::flock(file, LOCK_EX), 0);
  ASSERT_EQ(::pwrite(file, holder.data(), holder.size(), 0), std::ssize(holder));
  EXPECT_THAT([] { DirectoryLock(directory, "run.directory"); },
              ThrowsMessage<Error>(
                  HasSubstr("If that machine is gone for good, remove " + directory + "/.lock.")));
  ::close(file);
}

TEST(DirectoryLock, IsLostWithTheDirectory) {
  namespace fs = std::filesystem;
  fs::remove_all(directory);
  DirectoryLock const lock(directory, "run.directory");
  EXPECT_NO_THROW(lock.require_held());
  fs::remove_all(directory);
  EXPECT_THAT([&] { lock.require_held(); },
              ThrowsMessage<Error>(HasSubstr("was removed or replaced while")));
  DirectoryLock const other(directory, "run.directory");
  EXPECT_THROW(lock.require_held(), Error);
  EXPECT_NO_THROW(other.require_held());
}

TEST(DirectoryLock, DoesNotFollowALink) {
  namespace fs = std::filesystem;
  fs::remove_all(directory);
  fs::create_directories(directory);
  fs::path const victim = directory + "/mine";
  fs::create_symlink(victim, directory + "/.lock");
  EXPECT_THAT([] { DirectoryLock(directory, "run.directory"); },
              ThrowsMessage<Error>(HasSubstr("is a symbolic link")));
  EXPECT_FALSE(fs::exists(victim));
}

}  // namespace directory_lock_test
}  // namespace voxcycle
