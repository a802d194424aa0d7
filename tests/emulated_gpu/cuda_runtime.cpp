// SPDX-License-Identifier: BSD-3-Clause
// The functions of the CUDA run-time library that the program calls. Work in torch's own stream is
// done at once; work in side streams not before something waits for it, so that a wait too few
// shows.
#include "voxcycle/core/device.hpp"

#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

#include "graphs.hpp"
#include "memory.hpp"
#include "streams.hpp"
#include <cuda_runtime_api.h>

namespace {

struct Stream {
  std::recursive_mutex mutex;
  std::deque<std::function<void()>> pending;
  std::int64_t first = 0;  ///< number of pending.front(), counted from the stream's beginning

  void do_until(std::int64_t end) {
    std::lock_guard const lock(mutex);
    while (first < end && !pending.empty()) {
      auto const work = std::move(pending.front());
      pending.pop_front();
      ++first;
      work();
    }
  }
};

struct Event {
  Stream* stream = nullptr;
  std::int64_t end = 0;  ///< what was in the stream before the event has smaller numbers
};

Stream* as_stream(void* stream) {
  return static_cast<Stream*>(stream);
}

}  // namespace

namespace voxcycle::emulated_gpu {

void enqueue(void* stream, std::function<void()> work) {
  if (stream == nullptr) return is_recording() ? record(std::move(work)) : work();
  std::lock_guard const lock(as_stream(stream)->mutex);
  as_stream(stream)->pending.push_back(std::move(work));
}

}  // namespace voxcycle::emulated_gpu

extern "C" {

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = voxcycle::emulated_gpu::device_count();
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  *properties = {};
  std::strcpy(properties->name, "emulated GPU");
  int const capability = voxcycle::emulated_gpu::capability();
  properties->major = capability / 10;
  properties->minor = capability % 10;
  properties->uuid.bytes[0] = static_cast<char>(voxcycle::emulated_gpu::machine_number(device));
  properties->totalGlobalMem = voxcycle::emulated_gpu::memory_of_gpu();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= voxcycle::emulated_gpu::device_count()) return cudaErrorInvalidDevice;
  voxcycle::emulated_gpu::set_current_device(device);
  return cudaSuccess;
}

char const* cudaGetErrorString(cudaError_t error) {
  if (error == cudaErrorStreamCaptureUnsupported)
    return "operation not permitted when stream is capturing";
  return error == cudaErrorInvalidDevice ? "invalid device ordinal" : "an emulated error";
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned /*flags*/) {
  *stream = reinterpret_cast<cudaStream_t>(new Stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete as_stream(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (voxcycle::emulated_gpu::is_recording()) return cudaErrorStreamCaptureUnsupported;
  if (stream != nullptr) as_stream(stream)->do_until(INT64_MAX);
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned /*flags*/) {
  *event = reinterpret_cast<cudaEvent_t>(new Event);
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete reinterpret_cast<Event*>(event);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  auto* const mark = reinterpret_cast<Event*>(event);
  mark->stream = as_stream(stream);
  if (stream == nullptr) return cudaSuccess;
  std::lock_guard const lock(mark->stream->mutex);
  mark->end = mark->stream->first + static_cast<std::int64_t>(mark->stream->pending.size());
  return cudaSuccess;
}

/// A side stream that waits does so in its own time.
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
  Event const mark = *reinterpret_cast<Event*>(event);
  if (mark.stream == nullptr) return cudaSuccess;
  voxcycle::emulated_gpu::enqueue(stream, [mark] { mark.stream->do_until(mark.end); });
  return cudaSuccess;
}

}  // extern "C"

// Of nccl.cpp, which is left out where there is no header of NCCL.
extern "C" __attribute__((weak)) int ncclGetVersion(int* version);

// In place of src/core/torch_device: nothing is to be loaded, and torch's stream is the null
// stream.
namespace voxcycle {

TorchCuda const& load_torch_cuda() {
  static TorchCuda const torch = [] {
    TorchCuda found{.directory = "emulated",
                    .present = true,
                    .failure = "",
                    .runtime = CUDART_VERSION,
                    .cudnn = 91500};
    if (ncclGetVersion != nullptr) ncclGetVersion(&found.nccl);
    return found;
  }();
  return torch;
}

DeviceStream current_queue(int device) {
  return {device, nullptr};
}

}  // namespace voxcycle
