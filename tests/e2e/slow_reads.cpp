// SPDX-License-Identifier: BSD-3-Clause
// Preloaded by slow_disk.py: every read from a file at an offset, as HDF5 reads, takes some
// milliseconds longer.
#include <chrono>
#include <thread>

#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr auto kDelay = std::chrono::milliseconds(60);

}  // namespace

extern "C" ssize_t pread(int file, void* to, size_t count, off_t offset) {
  std::this_thread::sleep_for(kDelay);
  return ::syscall(SYS_pread64, file, to, count, offset);
}

extern "C" ssize_t pread64(int file, void* to, size_t count, off64_t offset) {
  return pread(file, to, count, offset);
}
