// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/nccl.hpp"

namespace voxcycle {

int nccl_header_version() {
  return 0;
}

}  // namespace voxcycle
