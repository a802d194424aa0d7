// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace voxcycle {

/// Holds a directory for this process alone while it lives: a lock (flock) on the file `.lock` in
/// it, which names the holder meanwhile. The system gives it back however the process ends; the
/// file stays. File systems without locks are used without one.
class DirectoryLock {
 public:
  /// Makes the directory if need be. @throws Error naming the holder if there is one, and the key
  /// that chooses the directory, or if `.lock` is a symbolic link.
  DirectoryLock(std::string const& directory, std::string const& key);
  ~DirectoryLock();
  DirectoryLock(DirectoryLock const&) = delete;
  DirectoryLock& operator=(DirectoryLock const&) = delete;

  /// To be called before what is written there. @throws Error if the directory, or the lock's file,
  /// was removed meanwhile: others may hold the new one.
  void require_held() const;

 private:
  std::string directory_;
  int file_ = -1;
  bool held_ = false;
};

}  // namespace voxcycle
