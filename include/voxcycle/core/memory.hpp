// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace voxcycle {

/// Lets the C library keep freed memory for the next step instead of giving it back to the system:
/// fields of many MiB would otherwise be mapped and zeroed page by page at every allocation, which
/// costs more than the kernels that fill them (at 512^3 half of a training step). Holes between
/// them add 2 to 5 % to the peak; larger tensors are LargeBlocks, which leave none. Call first
/// thing in main; does nothing where the C library is not glibc.
void keep_freed_memory();

/// Gives what large_blocks() keep and, for fields of 256^3 voxels and more, what the C library
/// keeps back to the system, for work on fields of other sizes.
/// @param voxels  of the fields that are or were worked on
void release_freed_memory(std::int64_t voxels);

/// Memory of this process that is in use now, shared libraries included (VmRSS); 0 where the system
/// does not tell.
std::int64_t resident_bytes();
/// The most that it ever was (VmHWM). With keep_freed_memory() freed memory stays in use, so that
/// this is the most that was ever held at once plus what falls between the cracks.
std::int64_t resident_peak_bytes();

/// Memory of this machine that processes may use: what it has, or less where a control group (of a
/// batch system or a container) sets a limit; 0 where the system does not tell.
std::int64_t machine_memory_bytes();

inline constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
/// Of a machine's or a GPU's memory: the rest is the system's and the page cache's.
inline constexpr double kUsableShare = 0.9;
/// That share of this machine's memory, or of its control group's.
double usable_memory_bytes();

}  // namespace voxcycle
