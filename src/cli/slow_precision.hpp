// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/train/trainer.hpp"

namespace voxcycle {

/// Says so where convolutions in bf16, the default, are slower than in float32: on processors that
/// do not multiply bfloat16 numbers, where torch's own loops may do instead of oneDNN's.
/// **Collective**.
void warn_of_slow_bfloat16(TrainOptions const& options, Communicator const& comm);

}  // namespace voxcycle
