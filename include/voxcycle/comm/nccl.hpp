// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"

#include <memory>

namespace voxcycle {

/// The NCCL version of the header that this was compiled with, 22809 for 2.28.9; 0: none.
int nccl_header_version();

/// The processes of `host`, each with a GPU of its own: what is on GPUs goes through the NCCL that
/// torch has loaded, in the order of torch's current stream; what is in the host's memory goes
/// through `host`, which must outlive the result. require_cuda has passed with
/// nccl_header_version().
/// **Collective**.
/// @param device  number of this process's GPU
/// @throws Error with NCCL's own text, or in a build without NCCL.
std::unique_ptr<Communicator> make_nccl_communicator(Communicator const& host, int device);

}  // namespace voxcycle
