// SPDX-License-Identifier: BSD-3-Clause
// What every .cu file needs: the block that plays a block program on the GPU, and launching.
#pragma once

#include "voxcycle/core/block_program.hpp"
#include "voxcycle/core/device.hpp"
#include "voxcycle/core/element_job.hpp"

#include <cstdint>

namespace voxcycle {

struct DeviceBlock {
  template <class State>
  struct Private {
    State state;
    __device__ State& operator[](int /*thread*/) { return state; }
  };

  template <class Work>
  __device__ void each(Work work) {
    work(static_cast<int>(threadIdx.x));
  }
  __device__ void sync() { __syncthreads(); }
};

/// Makes a GPU the current one, and then the one before again.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) : device_(device) {
    require_cuda_success("GPU", cudaGetDevice(&before_));
    if (before_ != device_) require_cuda_success("GPU", cudaSetDevice(device_));
  }
  ~CurrentDevice() {
    if (before_ != device_) cudaSetDevice(before_);
  }
  CurrentDevice(CurrentDevice const&) = delete;
  CurrentDevice& operator=(CurrentDevice const&) = delete;

 private:
  int device_, before_ = 0;
};

/// Launches `blocks` blocks, without waiting for them. @throws Error if they cannot be launched.
template <int threads = block_threads, class... Parameters, class... Arguments>
void launch(char const* name, DeviceStream const& queue, std::int64_t blocks,
            void (*kernel)(Parameters...), Arguments const&... arguments) {
  if (blocks == 0) return;
  CurrentDevice const current(queue.device);
  kernel<<<static_cast<unsigned>(blocks), threads, 0, static_cast<cudaStream_t>(queue.stream)>>>(
      arguments...);
  require_cuda_success(name, cudaGetLastError());
}

template <class Job>
__global__ void __launch_bounds__(block_threads)
    element_kernel(std::int64_t const count, Job const job) {
  std::int64_t const i = static_cast<std::int64_t>(blockIdx.x) * block_threads + threadIdx.x;
  if (i < count) job(i);
}

template <class Job>
void launch_elements(char const* name, DeviceStream const& queue, std::int64_t count,
                     Job const& job) {
  launch(name, queue, (count + block_threads - 1) / block_threads, element_kernel<Job>, count, job);
}

static __global__ void __launch_bounds__(block_threads)
    sum_rows_kernel(double const* values, std::int64_t count, double* sums) {
  __shared__ double shared[block_threads];
  DeviceBlock block;
  sum_row_block(block, shared, values, count, sums, blockIdx.x);
}

/// sums[i] = sum of row i of values [rows, count], in a fixed order.
inline void launch_row_sums(char const* name, DeviceStream const& queue, double const* values,
                            std::int64_t rows, std::int64_t count, double* sums) {
  launch(name, queue, rows, sum_rows_kernel, values, count, sums);
}

}  // namespace voxcycle
