// SPDX-License-Identifier: BSD-3-Clause
// Kernels of one thread an element, as values: job(i) does what is to be done for element i, and is
// VOXCYCLE_BOTH, so that a loop on the CPU may call it too.
#pragma once

#include "voxcycle/core/block_program.hpp"
#include "voxcycle/core/device.hpp"
#include "voxcycle/core/rehearsal.hpp"

#include <cstdint>
#include <tuple>

namespace voxcycle {

/// job(i) for all i in [0, count) on the GPU, in any order; nothing waits for the result. For the
/// jobs that a .cu file instantiates. @throws Error with CUDA's own words if the launch fails.
template <class Job>
void launch_elements(char const* name, DeviceStream const& queue, std::int64_t count,
                     Job const& job);

/// job(i) for all i in [0, count) on GPU `device`, or in a loop if that is negative, as torch's
/// index of the CPU is.
template <class Job>
void for_elements(char const* name, int device, std::int64_t count, Job const& job) {
  if (Rehearsal::current() != nullptr) return;
  if (device >= 0) return launch_elements(name, current_queue(device), count, job);
  for (std::int64_t i = 0; i < count; ++i) job(i);
}

/// `template struct ElementLaunches<std::tuple<A, B>>;` instantiates launch_elements for A and B.
template <class Jobs>
struct ElementLaunches;
template <class... Jobs>
struct ElementLaunches<std::tuple<Jobs...>> {
  static std::tuple<decltype(&launch_elements<Jobs>)...> all() {
    return {&launch_elements<Jobs>...};
  }
};

}  // namespace voxcycle
