// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device_block.cuh"

#include "network/norm_launch.hpp"

namespace voxcycle::norm_blocks {
namespace {

template <class T, class Compute>
__global__ void __launch_bounds__(block_threads) moments_kernel(Job<T, Compute> const job) {
  __shared__ Shared shared;
  DeviceBlock block;
  norm_blocks::moments(block, shared, job, blockIdx.x);
}

template <class T, class Compute>
__global__ void __launch_bounds__(block_threads)
    backward_moments_kernel(Job<T, Compute> const job) {
  __shared__ Shared shared;
  DeviceBlock block;
  norm_blocks::backward_moments(block, shared, job, blockIdx.x);
}

template <class T, class Compute>
__global__ void __launch_bounds__(block_threads) forward_kernel(Job<T, Compute> const job) {
  DeviceBlock block;
  norm_blocks::forward(block, job, blockIdx.x);
}

template <class T, class Compute>
__global__ void __launch_bounds__(block_threads) backward_kernel(Job<T, Compute> const job) {
  DeviceBlock block;
  norm_blocks::backward(block, job, blockIdx.x);
}

template <class T, class Compute>
void sum_chunks(DeviceQueue const& queue, Job<T, Compute> const& job, double* sums) {
  launch_row_sums("sums of normalisation", queue, job.partial, 2 * job.samples * job.channels,
                  job.tiles().chunks, sums);
}

}  // namespace

template <class T, class Compute>
void Launch<T, Compute>::moments(DeviceQueue const& queue, Job<T, Compute> const& job,
                                 double* sums) {
  launch("moments of normalisation", queue, job.tiles().blocks(), moments_kernel<T, Compute>, job);
  sum_chunks(queue, job, sums);
}

template <class T, class Compute>
void Launch<T, Compute>::backward_moments(DeviceQueue const& queue, Job<T, Compute> const& job,
                                          double* sums) {
  launch("backward moments of normalisation", queue, job.tiles().blocks(),
         backward_moments_kernel<T, Compute>, job);
  sum_chunks(queue, job, sums);
}

template <class T, class Compute>
void Launch<T, Compute>::forward(DeviceQueue const& queue, Job<T, Compute> const& job) {
  launch("normalisation", queue, job.tiles().blocks(), forward_kernel<T, Compute>, job);
}

template <class T, class Compute>
void Launch<T, Compute>::backward(DeviceQueue const& queue, Job<T, Compute> const& job) {
  launch("backward normalisation", queue, job.tiles().blocks(), backward_kernel<T, Compute>, job);
}

template struct Launch<Bf16, float>;
template struct Launch<float, float>;
template struct Launch<double, double>;

}  // namespace voxcycle::norm_blocks
