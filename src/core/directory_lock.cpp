// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/directory_lock.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/host.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/text.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace voxcycle {
namespace {

std::string this_process() {
  return format("process %ld on ", static_cast<long>(::getpid())) + host_name();
}

std::string holder_in(int file) {
  std::array<char, 512> text{};
  auto const length = ::pread(file, text.data(), text.size() - 1, 0);
  return length > 0 ? text.data() : "another process";
}

}  // namespace

DirectoryLock::DirectoryLock(std::string const& directory, std::string const& key)
    : directory_(directory) {
  std::error_code code;
  std::filesystem::create_directories(directory, code);
  std::string const path = directory + "/.lock";
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
  VOXCYCLE_REQUIRE(file_ >= 0 || errno != ELOOP,
                   path << " is a symbolic link (this program would write where it leads to). "
                           "Remove it.");
  VOXCYCLE_REQUIRE(file_ >= 0, "cannot write " << path << ": " << std::strerror(errno)
                                               << ". Check the directory and its permissions.");
  if (::flock(file_, LOCK_EX | LOCK_NB) == 0) {
    auto const holder = this_process();
    static_cast<void>(::ftruncate(file_, 0));
    static_cast<void>(::pwrite(file_, holder.data(), holder.size(), 0));
    held_ = true;
  } else if (errno != EWOULDBLOCK) {
    log_warning(directory + " cannot be locked (" + std::strerror(errno) +
                "): nothing keeps another process from writing there at the same time.");
  } else {
    auto const holder = holder_in(file_);
    ::close(file_);
    bool const elsewhere = !holder.ends_with(" on " + host_name());
    throw Error(directory + " is in use by " + holder + ". Wait for its end, or choose another " +
                key + "." +
                (elsewhere ? " If that machine is gone for good, remove " + path + "." : ""));
  }
}

void DirectoryLock::require_held() const {
  struct stat there {
  }, ours{};
  bool const same = ::stat((directory_ + "/.lock").c_str(), &there) == 0 &&
                    ::fstat(file_, &ours) == 0 && there.st_dev == ours.st_dev &&
                    there.st_ino == ours.st_ino;
  VOXCYCLE_REQUIRE(same, directory_ << " was removed or replaced while this process wrote there "
                                       "(another may do so now). Start again.");
}

DirectoryLock::~DirectoryLock() {
  if (held_) static_cast<void>(::ftruncate(file_, 0));
  ::close(file_);
}

}  // namespace voxcycle
