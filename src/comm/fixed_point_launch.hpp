// SPDX-License-Identifier: BSD-3-Clause
// The kernels of src/comm/kernels/fixed_point.cu. All pointers are to GPU memory; nothing waits for
// the result. @throws Error with CUDA's own words if a launch fails.
#pragma once

#include "voxcycle/core/device.hpp"

#include "comm/fixed_point_blocks.hpp"

namespace voxcycle::fixed_point {

/// Compiled for float and double.
template <class T>
struct Launch {
  /// @param all  the largest of all chunks
  static void largest(DeviceQueue const& queue, LargestJob<T> const& job, std::int64_t* all);
  static void add(DeviceQueue const& queue, AddJob<T> const& job);
  static void to_floating(DeviceQueue const& queue, ToFloatingJob<T> const& job);
};

extern template struct Launch<float>;
extern template struct Launch<double>;

}  // namespace voxcycle::fixed_point
