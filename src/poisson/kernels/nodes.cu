// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device_block.cuh"

#include "poisson/launch.hpp"

namespace voxcycle {
namespace {

template <class T>
__global__ void node_sum_kernel(NodeSumJob<T> const job) {
  sum_at_node(job, element());
}

template <class T>
__global__ void chebyshev_kernel(ChebyshevJob<T> const job) {
  chebyshev_at(job, element());
}

template <class T>
__global__ void divide_kernel(DivideJob<T> const job) {
  divide_at(job, element());
}

}  // namespace

void launch_node_sum(DeviceQueue const& queue, NodeSumJob<float> const& job) {
  launch_elements("node sums", queue, job.count(), node_sum_kernel<float>, job);
}
void launch_node_sum(DeviceQueue const& queue, NodeSumJob<double> const& job) {
  launch_elements("node sums", queue, job.count(), node_sum_kernel<double>, job);
}

void launch_chebyshev(DeviceQueue const& queue, ChebyshevJob<float> const& job) {
  launch_elements("Chebyshev step", queue, job.count, chebyshev_kernel<float>, job);
}
void launch_chebyshev(DeviceQueue const& queue, ChebyshevJob<double> const& job) {
  launch_elements("Chebyshev step", queue, job.count, chebyshev_kernel<double>, job);
}

void launch_divide(DeviceQueue const& queue, DivideJob<float> const& job) {
  launch_elements("division by the diagonal", queue, job.count, divide_kernel<float>, job);
}
void launch_divide(DeviceQueue const& queue, DivideJob<double> const& job) {
  launch_elements("division by the diagonal", queue, job.count, divide_kernel<double>, job);
}

}  // namespace voxcycle
