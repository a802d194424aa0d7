// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/device.hpp"

#include "comm/fixed_point_blocks.hpp"

namespace voxcycle::fixed_point {

/// For float and double. All pointers are to GPU memory; nothing waits for the result. @throws
/// Error with CUDA's own words if the launch fails.
template <class T>
void launch_largest(DeviceStream const& queue, LargestJob<T> const& job);

}  // namespace voxcycle::fixed_point
