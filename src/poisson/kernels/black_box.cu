// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device_block.cuh"

#include "poisson/element_jobs.hpp"

namespace voxcycle {

template struct ElementLaunches<BlackBoxWeightJobs<float, VoxelEntries<float>>>;
template struct ElementLaunches<BlackBoxWeightJobs<float, CouplingEntries<float>>>;
template struct ElementLaunches<BlackBoxProducts<float>>;
template struct ElementLaunches<BlackBoxWeightJobs<double, VoxelEntries<double>>>;
template struct ElementLaunches<BlackBoxWeightJobs<double, CouplingEntries<double>>>;
template struct ElementLaunches<BlackBoxProducts<double>>;

}  // namespace voxcycle
