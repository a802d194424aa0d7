// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>

namespace voxcycle {

/// Wall-clock seconds since construction or the last restart.
class Timer {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  void restart() { start_ = std::chrono::steady_clock::now(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace voxcycle
