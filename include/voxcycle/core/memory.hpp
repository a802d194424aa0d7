// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace voxcycle {

/// Lets the C library keep freed memory for the next step instead of giving it back to the system:
/// fields of many MiB would otherwise be mapped and zeroed page by page at every allocation, which
/// costs more than the kernels that fill them. Call once, first thing in main; nothing where the C
/// library is not glibc.
void keep_freed_memory();

}  // namespace voxcycle
