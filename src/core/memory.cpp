// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/memory.hpp"

#include <malloc.h>

namespace voxcycle {

void keep_freed_memory(FreedMemory which) {
#if defined(__GLIBC__)
  constexpr int never = -1;
  constexpr int growth = 64 << 20;
  constexpr int usual_mappings = 65536;
  constexpr int large = 32 << 20;  // the C library accepts no more
  bool const all = which == FreedMemory::all;
  mallopt(M_MMAP_THRESHOLD, large);
  mallopt(M_MMAP_MAX, all ? 0 : usual_mappings);
  mallopt(M_TRIM_THRESHOLD, never);
  mallopt(M_TOP_PAD, growth);
  if (!all) malloc_trim(0);
#endif
}

}  // namespace voxcycle
