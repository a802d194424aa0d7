// SPDX-License-Identifier: BSD-3-Clause
// torch's own class for graphs is in a library that the program is not linked with
// (torch_cuda.cpp). What it does besides calling CUDA is to tell the allocator, which is within
// reach: memory that recorded work takes comes from a pool of the graph's own.
#include "voxcycle/core/device.hpp"
#include "voxcycle/core/device_graph.hpp"
#include "voxcycle/core/error.hpp"

#include <atomic>
#include <string>

#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <cuda_runtime_api.h>

namespace voxcycle {
namespace {

/// Far from the numbers that torch gives its own pools.
std::atomic<c10::CaptureId_t> next_pool = c10::CaptureId_t{1} << 40;

c10::cuda::CUDACachingAllocator::CUDAAllocator& allocator() {
  return *static_cast<c10::cuda::CUDACachingAllocator::CUDAAllocator*>(
      c10::GetAllocator(c10::kCUDA));
}

/// Of any thread: backward has one of its own.
std::atomic<bool> recording = false;

}  // namespace

struct DeviceGraph::Impl {
  explicit Impl(int device_in) : device(static_cast<c10::DeviceIndex>(device_in)) {}
  ~Impl() {
    if (launchable != nullptr) cudaGraphExecDestroy(launchable);
    if (has_pool) allocator().releasePool(device, pool);
  }

  /// torch's default stream cannot be recorded.
  void record(std::function<void()> const& work) {
    c10::impl::VirtualGuardImpl const guard(c10::kCUDA);
    c10::Stream const side = guard.getStreamFromGlobalPool({c10::kCUDA, device}, false);
    auto const stream = static_cast<cudaStream_t>(side.native_handle());
    require_cuda_success("GPU", cudaDeviceSynchronize());
    allocator().beginAllocateToPool(device, pool, [stream](cudaStream_t s) { return s == stream; });
    has_pool = true;
    c10::Stream const before = guard.exchangeStream(side);
    std::string failure;
    cudaGraph_t graph = nullptr;
    // The thread that reads batches goes on allocating pinned memory.
    cudaError_t status = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    if (status == cudaSuccess) {
      recording = true;
      try {
        work();
      } catch (std::exception const& error) {
        failure = error.what();
      }
      recording = false;
      status = cudaStreamEndCapture(stream, &graph);
    }
    guard.exchangeStream(before);
    allocator().endAllocateToPool(device, pool);
    if (failure.empty() && status == cudaSuccess)
      status = cudaGraphInstantiate(&launchable, graph, 0);
    if (graph != nullptr) cudaGraphDestroy(graph);
    if (failure.empty() && status != cudaSuccess) failure = cudaGetErrorString(status);
    if (failure.empty()) return;
    cudaGetLastError();  // forgets it
    throw Error(failure);
  }

  c10::DeviceIndex device;
  c10::MempoolId_t pool{next_pool++, 0};
  bool has_pool = false;
  cudaGraphExec_t launchable = nullptr;
};

DeviceGraph::DeviceGraph(int device, std::function<void()> const& work) {
  require_cuda_success("GPU", cudaSetDevice(device));
  auto const graph = std::make_shared<Impl>(device);
  graph->record(work);
  impl_ = graph;
}

DeviceGraph::~DeviceGraph() = default;

bool DeviceGraph::is_recording() {
  return recording;
}

void DeviceGraph::launch() const {
  auto const queue = current_queue(impl_->device);
  require_cuda_success("GPU", cudaSetDevice(queue.device));
  require_cuda_success("GPU",
                       cudaGraphLaunch(impl_->launchable, static_cast<cudaStream_t>(queue.stream)));
}

}  // namespace voxcycle
