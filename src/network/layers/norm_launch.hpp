// SPDX-License-Identifier: BSD-3-Clause
// The kernels of src/network/kernels/norm.cu. All pointers are to GPU memory; nothing waits for the
// result. @throws Error with CUDA's own words if a launch fails.
#pragma once

#include "voxcycle/core/device.hpp"

#include "network/layers/norm_blocks.hpp"

namespace voxcycle::norm_blocks {

/// Compiled for <Bf16, float>, <F16, float>, <float, float> and <double, double>.
template <class T, class Compute>
struct Launch {
  /// @param sums  [samples, 2 channels]
  static void moments(DeviceStream const& queue, Job<T, Compute> const& job, double* sums);
  static void backward_moments(DeviceStream const& queue, Job<T, Compute> const& job, double* sums);
  static void forward(DeviceStream const& queue, Job<T, Compute> const& job);
  static void backward(DeviceStream const& queue, Job<T, Compute> const& job);
};

extern template struct Launch<Bf16, float>;
extern template struct Launch<F16, float>;
extern template struct Launch<float, float>;
extern template struct Launch<double, double>;

}  // namespace voxcycle::norm_blocks
