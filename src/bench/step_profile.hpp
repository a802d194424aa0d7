// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// What torch's profiler saw of a piece of work, as shares of its wall time.
struct Profile {
  double seconds = 0.0;
  double convolutions = 0.0;  ///< torch's convolutions, forward and backward
  double own_kernels = 0.0;   ///< our kernels; of a GPU alone
  double copies = 0.0;        ///< within a GPU's memory, to it and from it; of a GPU alone
  double busy = 1.0;          ///< share of the time in which a GPU computed at all
};

/// Runs the work once under the profiler. On a GPU it is the GPU's own time that counts.
/// @param trace  file for the events, which Perfetto and TensorBoard show
/// @throws Error if the profiler saw nothing of the GPU, or the file cannot be written.
Profile profile_of(std::function<void()> const& work, at::Device device, std::string const& trace);

}  // namespace voxcycle
