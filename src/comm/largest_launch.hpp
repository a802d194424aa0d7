// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/device.hpp"

#include "comm/fixed_point_blocks.hpp"

namespace voxcycle::fixed_point {

/// *all = the largest of all chunks; for float and double. All pointers are to GPU memory; nothing
/// waits for the result. @throws Error with CUDA's own words if a launch fails.
template <class T>
void launch_largest(DeviceQueue const& queue, LargestJob<T> const& job, std::int64_t* all);

}  // namespace voxcycle::fixed_point
