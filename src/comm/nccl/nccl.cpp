// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/nccl.hpp"

#include <nccl.h>

namespace voxcycle {

int nccl_header_version() {
  return NCCL_VERSION_CODE;
}

}  // namespace voxcycle
