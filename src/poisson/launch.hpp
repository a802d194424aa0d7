// SPDX-License-Identifier: BSD-3-Clause
// The energy kernel on a GPU: src/poisson/kernels/energy.cu. All pointers are to its memory;
// nothing waits for the result. @throws Error with CUDA's own words if a launch fails.
#pragma once

#include "voxcycle/core/device.hpp"

#include "energy_blocks.hpp"

namespace voxcycle {

/// Writes job.gradient and, with `energy` not null, J of each sample there.
void launch_energy(DeviceQueue const& queue, EnergyJob<float> const& job, double* energy);
void launch_energy(DeviceQueue const& queue, EnergyJob<double> const& job, double* energy);

}  // namespace voxcycle
