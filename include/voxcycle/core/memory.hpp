// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace voxcycle {

enum class FreedMemory {
  all,    ///< fastest
  small,  ///< blocks of 32 MiB and more are given back: holes between them would double the peak
};

/// Lets the C library keep freed memory for the next step instead of giving it back to the system:
/// fields of many MiB would otherwise be mapped and zeroed page by page at every allocation, which
/// costs more than the kernels that fill them. Call first thing in main, and again when sizes
/// change; does nothing where the C library is not glibc.
void keep_freed_memory(FreedMemory which = FreedMemory::all);

/// Which to keep when working on fields of so many voxels.
constexpr FreedMemory freed_memory_to_keep(std::int64_t voxels) {
  return voxels < std::int64_t{256} * 256 * 256 ? FreedMemory::all : FreedMemory::small;
}

}  // namespace voxcycle
