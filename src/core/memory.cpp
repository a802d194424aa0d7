// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/memory.hpp"

#include "voxcycle/core/large_blocks.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include <malloc.h>

namespace voxcycle {
namespace {

/// The bytes of a line "Name:   123 kB" of one of the system's tables; 0 if there is none.
std::int64_t kilobyte_line(char const* path, std::string const& name) {
  std::ifstream in(path);
  for (std::string word; in >> word;) {
    std::int64_t value = 0;
    if (word == name + ":" && in >> value) return value * 1024;
  }
  return 0;
}

/// The least number in the file `name` of a control group or of one above it; "max" is no number.
std::int64_t least_limit(std::string const& root, std::string group, std::string const& name) {
  auto least = std::numeric_limits<std::int64_t>::max();
  while (true) {
    std::int64_t value = 0;
    if (std::ifstream in(std::filesystem::path(root + group) / name); in >> value)
      least = std::min(least, value);
    auto const slash = group.rfind('/');
    if (slash == std::string::npos) return least;
    group.resize(slash);
  }
}

/// Of this process's control groups: version 2 ("0::/group") or 1 ("5:memory:/group").
std::int64_t control_group_limit() {
  auto least = std::numeric_limits<std::int64_t>::max();
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    auto const first = line.find(':');
    auto const second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string const controllers = line.substr(first + 1, second - first - 1);
    std::string const group = line.substr(second + 1);
    if (controllers.empty()) {
      least = std::min(least, least_limit("/sys/fs/cgroup", group, "memory.max"));
    } else if (("," + controllers + ",").find(",memory,") != std::string::npos) {
      least = std::min(least, least_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
    }
  }
  return least;
}

/// From here on what the C library keeps is worth giving back.
constexpr std::int64_t many_voxels = std::int64_t{256} * 256 * 256;

}  // namespace

void keep_freed_memory() {
#if defined(__GLIBC__)
  constexpr int no_mappings = 0;
  constexpr int never = -1;
  constexpr int growth = 64 << 20;
  mallopt(M_MMAP_MAX, no_mappings);
  mallopt(M_TRIM_THRESHOLD, never);
  mallopt(M_TOP_PAD, growth);
#endif
}

void release_freed_memory(std::int64_t voxels) {
  large_blocks().release();
#if defined(__GLIBC__)
  if (voxels >= many_voxels) malloc_trim(0);
#endif
}

std::int64_t resident_bytes() {
  return kilobyte_line("/proc/self/status", "VmRSS");
}

std::int64_t resident_peak_bytes() {
  return kilobyte_line("/proc/self/status", "VmHWM");
}

std::int64_t machine_memory_bytes() {
  return std::min(kilobyte_line("/proc/meminfo", "MemTotal"), control_group_limit());
}

}  // namespace voxcycle
