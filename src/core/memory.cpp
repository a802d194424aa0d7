// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/memory.hpp"

#include "voxcycle/core/control_groups.hpp"
#include "voxcycle/core/large_blocks.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
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
  auto const all = kilobyte_line("/proc/meminfo", "MemTotal");
  return std::min(all, memory_limit(control_groups("memory")).value_or(all));
}

double usable_memory_bytes() {
  return kUsableShare * static_cast<double>(machine_memory_bytes());
}

}  // namespace voxcycle
