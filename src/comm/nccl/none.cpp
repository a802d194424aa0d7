// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/nccl.hpp"
#include "voxcycle/core/error.hpp"

namespace voxcycle {

int nccl_header_version() {
  return 0;
}

std::unique_ptr<Communicator> make_nccl_communicator(Communicator const& /*host*/, int /*device*/) {
  throw Error(
      "built without NCCL (GPUs of several processes cannot exchange data). With the CUDA toolkit "
      "installed, ./dev setup --cuda and ./dev build bring it.");
}

}  // namespace voxcycle
