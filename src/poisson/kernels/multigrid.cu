// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device_block.cuh"

#include "poisson/operator/element_jobs.hpp"

namespace voxcycle {

template struct ElementLaunches<MultigridJobs<float>>;
template struct ElementLaunches<MultigridJobs<double>>;
template struct ElementLaunches<BodyJobs>;

}  // namespace voxcycle
