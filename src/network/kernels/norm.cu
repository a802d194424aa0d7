// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device_block.cuh"

#include "network/layers/norm_launch.hpp"

namespace voxcycle::norm_blocks {
namespace {

// Blocks a multiprocessor: 80 registers a thread. Left to choose, the compiler saves registers and
// has loads wait for the use of others.
constexpr int resident_blocks = 3;

template <class P, class Job>
__global__ void __launch_bounds__(block_threads, resident_blocks)
    moments_kernel(Job const job, Tiles const tiles) {
  __shared__ double shared[P::shared_size];
  DeviceBlock block;
  P(job, tiles, blockIdx.x).moments(block, shared);
}

template <class P, class Job>
__global__ void __launch_bounds__(block_threads, resident_blocks)
    backward_moments_kernel(Job const job, Tiles const tiles) {
  __shared__ double shared[P::shared_size];
  DeviceBlock block;
  P(job, tiles, blockIdx.x).backward_moments(block, shared);
}

template <class P, class Job>
__global__ void __launch_bounds__(block_threads, resident_blocks)
    forward_kernel(Job const job, Tiles const tiles) {
  DeviceBlock block;
  P(job, tiles, blockIdx.x).forward(block);
}

template <class P, class Job>
__global__ void __launch_bounds__(block_threads, resident_blocks)
    backward_kernel(Job const job, Tiles const tiles) {
  DeviceBlock block;
  P(job, tiles, blockIdx.x).backward(block);
}

template <class T, class Compute>
void sum_chunks(DeviceStream const& queue, Job<T, Compute> const& job, double* sums) {
  launch_row_sums("sums of normalisation", queue, job.partial, 2 * job.samples * job.channels,
                  job.tiles().chunks, sums);
}

}  // namespace

template <class T, class Compute>
void Launch<T, Compute>::moments(DeviceStream const& queue, Job<T, Compute> const& job,
                                 double* sums) {
  with_programs(job, [&]<class P>(std::type_identity<P>) {
    launch("moments of normalisation", queue, job.tiles().blocks(),
           moments_kernel<P, Job<T, Compute>>, job, job.tiles());
  });
  sum_chunks(queue, job, sums);
}

template <class T, class Compute>
void Launch<T, Compute>::backward_moments(DeviceStream const& queue, Job<T, Compute> const& job,
                                          double* sums) {
  with_programs(job, [&]<class P>(std::type_identity<P>) {
    launch("backward moments of normalisation", queue, job.tiles().blocks(),
           backward_moments_kernel<P, Job<T, Compute>>, job, job.tiles());
  });
  sum_chunks(queue, job, sums);
}

template <class T, class Compute>
void Launch<T, Compute>::forward(DeviceStream const& queue, Job<T, Compute> const& job) {
  with_programs(job, [&]<class P>(std::type_identity<P>) {
    launch("normalisation", queue, job.tiles().blocks(), forward_kernel<P, Job<T, Compute>>, job,
           job.tiles());
  });
}

template <class T, class Compute>
void Launch<T, Compute>::backward(DeviceStream const& queue, Job<T, Compute> const& job) {
  with_programs(job, [&]<class P>(std::type_identity<P>) {
    launch("backward normalisation", queue, job.tiles().blocks(),
           backward_kernel<P, Job<T, Compute>>, job, job.tiles());
  });
}

template struct Launch<Bf16, float>;
template struct Launch<F16, float>;
template struct Launch<float, float>;
template struct Launch<double, double>;

}  // namespace voxcycle::norm_blocks
