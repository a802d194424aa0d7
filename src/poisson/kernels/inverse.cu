// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device_block.cuh"

#include "poisson/multigrid/dense_points.hpp"
#include "poisson/operator/launch.hpp"

namespace voxcycle {
namespace {

__global__ void __launch_bounds__(block_threads) inverse_kernel(InverseJob const job) {
  __shared__ InverseShared shared;
  DeviceBlock block;
  inverse_block(block, shared, job, blockIdx.x);
}

}  // namespace

void launch_inverse(DeviceStream const& queue, InverseJob const& job, std::int64_t batch) {
  launch("inverse matrices", queue, batch, inverse_kernel, job);
}

template struct ElementLaunches<DenseJobs<float>>;
template struct ElementLaunches<DenseJobs<double>>;

}  // namespace voxcycle
