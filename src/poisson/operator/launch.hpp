// SPDX-License-Identifier: BSD-3-Clause
// The kernels on a GPU that add up: src/poisson/kernels/energy.cu and dots.cu. All pointers are to
// its memory; nothing waits for the result. @throws Error with CUDA's own words if a launch fails.
#pragma once

#include "voxcycle/core/device.hpp"

#include "poisson/multigrid/dense_points.hpp"
#include "poisson/operator/dot_blocks.hpp"
#include "poisson/operator/energy_blocks.hpp"

namespace voxcycle {

/// Writes job.gradient and, with `energy` not null, J of each sample there.
void launch_energy(DeviceStream const& queue, EnergyJob<float> const& job, double* energy);
void launch_energy(DeviceStream const& queue, EnergyJob<double> const& job, double* energy);

/// Writes the dot product of each sample to `dots`, which is job.partial if a sample is one chunk.
void launch_dots(DeviceStream const& queue, DotJob<float> const& job, std::int64_t batch,
                 double* dots);
void launch_dots(DeviceStream const& queue, DotJob<double> const& job, std::int64_t batch,
                 double* dots);

/// See InverseJob.
void launch_inverse(DeviceStream const& queue, InverseJob const& job, std::int64_t batch);

}  // namespace voxcycle
