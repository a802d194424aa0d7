// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device_block.cuh"

#include "comm/exact_sum_columns.hpp"

namespace voxcycle {

template struct ElementLaunches<exact_columns::Jobs>;

}  // namespace voxcycle
