// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device_block.cuh"

#include "poisson/operator/launch.hpp"

namespace voxcycle {
namespace {

template <class T>
__global__ void __launch_bounds__(block_threads) dot_kernel(DotJob<T> const job) {
  __shared__ double shared[block_threads];
  DeviceBlock block;
  dot_block(block, shared, job, blockIdx.x);
}

template <class T>
void launch_both(DeviceStream const& queue, DotJob<T> const& job, std::int64_t batch,
                 double* dots) {
  launch("dot products", queue, batch * job.chunks(), dot_kernel<T>, job);
  if (dots != job.partial) {
    launch_row_sums("dot products", queue, job.partial, batch, job.chunks(), dots);
  }
}

}  // namespace

void launch_dots(DeviceStream const& queue, DotJob<float> const& job, std::int64_t batch,
                 double* dots) {
  launch_both(queue, job, batch, dots);
}
void launch_dots(DeviceStream const& queue, DotJob<double> const& job, std::int64_t batch,
                 double* dots) {
  launch_both(queue, job, batch, dots);
}

}  // namespace voxcycle
