// SPDX-License-Identifier: BSD-3-Clause
// What element jobs need in a build without CUDA: launches that refuse, for */device/none.cpp to
// instantiate as .cu files do.
#pragma once

#include "voxcycle/core/element_job.hpp"
#include "voxcycle/core/error.hpp"

#include <string>

namespace voxcycle {

template <class Job>
void launch_elements(char const* name, DeviceStream const& /*queue*/, std::int64_t /*count*/,
                     Job const& /*job*/) {
  throw Error(std::string(name) + ": a tensor is on a GPU, but this voxcycle was " +
              cuda_problem({}));
}

}  // namespace voxcycle
