// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device_block.cuh"

#include "network/layers/norm_channels.hpp"

namespace voxcycle {

template struct ElementLaunches<norm_channels::Jobs>;

}  // namespace voxcycle
