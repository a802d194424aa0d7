// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device_block.cuh"

#include "comm/largest_launch.hpp"

namespace voxcycle {
namespace fixed_point {

template <class T>
__global__ void __launch_bounds__(block_threads) largest_kernel(LargestJob<T> const job) {
  __shared__ std::int64_t shared[block_threads];
  DeviceBlock block;
  largest_block(block, shared, job, blockIdx.x);
}

template <class T>
void launch_largest(DeviceStream const& queue, LargestJob<T> const& job) {
  launch("largest gradients", queue, job.segments.count, largest_kernel<T>, job);
}

template void launch_largest(DeviceStream const&, LargestJob<float> const&);
template void launch_largest(DeviceStream const&, LargestJob<double> const&);

}  // namespace fixed_point

template struct ElementLaunches<fixed_point::ElementJobs<float>>;
template struct ElementLaunches<fixed_point::ElementJobs<double>>;

}  // namespace voxcycle
