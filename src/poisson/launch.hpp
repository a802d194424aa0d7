// SPDX-License-Identifier: BSD-3-Clause
// The kernels of poisson on a GPU: src/poisson/kernels/*.cu. All pointers are to its memory;
// nothing waits for the result. @throws Error with CUDA's own words if a launch fails.
#pragma once

#include "voxcycle/core/device.hpp"

#include "energy_blocks.hpp"
#include "node_points.hpp"

namespace voxcycle {

/// Writes job.gradient and, with `energy` not null, J of each sample there.
void launch_energy(DeviceQueue const& queue, EnergyJob<float> const& job, double* energy);
void launch_energy(DeviceQueue const& queue, EnergyJob<double> const& job, double* energy);

void launch_node_sum(DeviceQueue const& queue, NodeSumJob<float> const& job);
void launch_node_sum(DeviceQueue const& queue, NodeSumJob<double> const& job);

void launch_chebyshev(DeviceQueue const& queue, ChebyshevJob<float> const& job);
void launch_chebyshev(DeviceQueue const& queue, ChebyshevJob<double> const& job);

void launch_divide(DeviceQueue const& queue, DivideJob<float> const& job);
void launch_divide(DeviceQueue const& queue, DivideJob<double> const& job);

}  // namespace voxcycle
