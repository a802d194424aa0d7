// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/memory.hpp"

#include <malloc.h>

namespace voxcycle {

void keep_freed_memory() {
#if defined(__GLIBC__)
  constexpr int never = -1;
  constexpr int growth = 64 << 20;
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, never);
  mallopt(M_TOP_PAD, growth);
#endif
}

}  // namespace voxcycle
