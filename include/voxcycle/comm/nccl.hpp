// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace voxcycle {

/// The NCCL version of the header that this was compiled with, 22809 for 2.28.9; 0: none.
int nccl_header_version();

}  // namespace voxcycle
