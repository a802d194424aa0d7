// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/train/trainer.hpp"

namespace voxcycle {

/// Says so where another precision would be many times faster: bf16, the default, on processors
/// that do not multiply such numbers, where torch's own loops may do instead of oneDNN's; float32
/// on GPUs in exact mode. **Collective**.
void warn_of_slow_precision(TrainOptions const& options, Communicator const& comm);

}  // namespace voxcycle
