// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device_block.cuh"

#include "poisson/operator/launch.hpp"

namespace voxcycle {
namespace {

// Blocks that share a multiprocessor: as many as its registers hold without spilling.
template <class T>
constexpr int blocks_at_once = sizeof(T) == sizeof(float) ? 5 : 3;

template <class T>
__global__ void __launch_bounds__(EnergyTiles::threads, blocks_at_once<T>)
    energy_kernel(EnergyJob<T> const job) {
  __shared__ EnergyShared<T> shared;
  DeviceBlock block;
  energy_block(block, shared, job, static_cast<int>(blockIdx.x));
}

template <class T>
void launch_both(DeviceStream const& queue, EnergyJob<T> const& job, double* energy) {
  int const tiles = EnergyTiles(job.nx, job.ny, job.nz).per_sample();
  launch<EnergyTiles::threads>("energy kernel", queue, static_cast<std::int64_t>(job.batch) * tiles,
                               energy_kernel<T>, job);
  if (energy != nullptr) {
    launch_row_sums("energy sums", queue, job.partial, job.batch, tiles, energy);
  }
}

}  // namespace

void launch_energy(DeviceStream const& queue, EnergyJob<float> const& job, double* energy) {
  launch_both(queue, job, energy);
}
void launch_energy(DeviceStream const& queue, EnergyJob<double> const& job, double* energy) {
  launch_both(queue, job, energy);
}

}  // namespace voxcycle
