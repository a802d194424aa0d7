// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device_block.cuh"

#include "poisson/operator/element_jobs.hpp"

namespace voxcycle {

template struct ElementLaunches<BlackBoxJobs<float>>;
template struct ElementLaunches<BlackBoxJobs<double>>;

}  // namespace voxcycle
