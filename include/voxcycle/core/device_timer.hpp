// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/core/device.hpp"
#include "voxcycle/core/timer.hpp"

namespace voxcycle {

/// Wall-clock seconds of work that may be on a GPU: before it looks at the clock it waits for what
/// torch has started there.
class DeviceTimer {
 public:
  /// @param gpu  number of the GPU, or -1: the CPU, which is never ahead (at::Device::index)
  explicit DeviceTimer(int gpu) : gpu_(gpu) { restart(); }
  double seconds() const {
    wait();
    return timer_.seconds();
  }
  void restart() {
    wait();
    timer_.restart();
  }

 private:
  void wait() const {
    if (gpu_ >= 0) wait_for(current_queue(gpu_));
  }

  int gpu_;
  Timer timer_;
};

}  // namespace voxcycle
