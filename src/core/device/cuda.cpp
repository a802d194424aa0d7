// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

#include <cuda_runtime_api.h>

namespace voxcycle {
namespace {

std::string hexadecimal(cudaUUID_t const& uuid) {
  std::string text;
  for (char const byte : uuid.bytes) text += format("%02x", static_cast<unsigned char>(byte));
  return text;
}

}  // namespace

CudaReport cuda_report() {
  CudaReport report;
  report.compiled = CUDART_VERSION;
  report.min_capability = VOXCYCLE_CUDA_LEAST;
  cudaDriverGetVersion(&report.driver);  // leaves 0 where there is none
  int count = 0;
  cudaError_t status = cudaGetDeviceCount(&count);
  for (int device = 0; status == cudaSuccess && device < count; ++device) {
    cudaDeviceProp properties{};
    status = cudaGetDeviceProperties(&properties, device);
    report.gpus.push_back({properties.name, 10 * properties.major + properties.minor,
                           static_cast<std::int64_t>(properties.totalGlobalMem),
                           hexadecimal(properties.uuid)});
  }
  if (status != cudaSuccess) {
    report.failure = cudaGetErrorString(status);
    report.gpus.clear();
  }
  return report;
}

void wait_for(DeviceStream const& queue) {
  require_cuda_success("GPU", cudaSetDevice(queue.device));
  require_cuda_success("GPU", cudaStreamSynchronize(static_cast<cudaStream_t>(queue.stream)));
}

SideStream::SideStream(int device) : queue_{device, nullptr} {
  require_cuda_success("GPU", cudaSetDevice(device));
  cudaStream_t stream = nullptr;
  require_cuda_success("GPU", cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  queue_.stream = stream;
}

SideStream::~SideStream() {
  cudaStreamDestroy(static_cast<cudaStream_t>(queue_.stream));
}

StreamEvent::StreamEvent(DeviceStream const& recorded) {
  require_cuda_success("GPU", cudaSetDevice(recorded.device));
  cudaEvent_t event = nullptr;
  require_cuda_success("GPU", cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  event_ = event;
  require_cuda_success("GPU", cudaEventRecord(event, static_cast<cudaStream_t>(recorded.stream)));
}

StreamEvent::~StreamEvent() {
  cudaEventDestroy(static_cast<cudaEvent_t>(event_));
}

void StreamEvent::hold(DeviceStream const& waiting) const {
  require_cuda_success("GPU", cudaStreamWaitEvent(static_cast<cudaStream_t>(waiting.stream),
                                                  static_cast<cudaEvent_t>(event_), 0));
}

void require_cuda_success(char const* what, int status) {
  VOXCYCLE_REQUIRE(
      status == cudaSuccess,
      what << ": CUDA reports: " << cudaGetErrorString(static_cast<cudaError_t>(status))
           << " (what the GPU computed so far cannot be trusted). voxcycle info tells "
              "what it sees of GPU and driver.");
}

}  // namespace voxcycle
