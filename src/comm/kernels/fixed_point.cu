// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device_block.cuh"

#include "comm/fixed_point_launch.hpp"

namespace voxcycle::fixed_point {
namespace {

template <class T>
__global__ void __launch_bounds__(block_threads) largest_kernel(LargestJob<T> const job) {
  __shared__ std::int64_t shared[block_threads];
  DeviceBlock block;
  largest_block(block, shared, job, blockIdx.x);
}

template <class T>
__global__ void add_kernel(AddJob<T> const job) {
  add_at(job, element());
}

template <class T>
__global__ void to_floating_kernel(ToFloatingJob<T> const job) {
  to_floating_at(job, element());
}

}  // namespace

template <class T>
void Launch<T>::largest(DeviceQueue const& queue, LargestJob<T> const& job, std::int64_t* all) {
  launch("largest gradient", queue, job.chunks(), largest_kernel<T>, job);
  launch("largest gradient", queue, 1, largest_kernel<std::int64_t>,
         LargestJob<std::int64_t>{job.largest, job.chunks(), job.chunks(), all});
}

template <class T>
void Launch<T>::add(DeviceQueue const& queue, AddJob<T> const& job) {
  launch_elements("fixed-point sum", queue, job.count, add_kernel<T>, job);
}

template <class T>
void Launch<T>::to_floating(DeviceQueue const& queue, ToFloatingJob<T> const& job) {
  launch_elements("fixed-point sum", queue, job.count, to_floating_kernel<T>, job);
}

template struct Launch<float>;
template struct Launch<double>;

}  // namespace voxcycle::fixed_point
