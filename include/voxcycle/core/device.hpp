// SPDX-License-Identifier: BSD-3-Clause
// GPUs: what is there, whether it can be used, and where to launch kernels. Versions of CUDA are
// 1000 major + 10 minor (13000), of cuDNN 10000 major + 100 minor + patch (91900), of NCCL
// 10000 major + 100 minor + patch (22809), as the libraries count themselves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace voxcycle {

/// One GPU as the driver lists it.
struct Gpu {
  std::string name;
  int capability = 0;       ///< compute capability, 90 for 9.0
  std::int64_t memory = 0;  ///< bytes
  std::string uuid{};       ///< hexadecimal; the same in every process that sees this GPU
};

/// What this build and this machine have. A build without CUDA reports zeros.
struct CudaReport {
  int compiled = 0;        ///< CUDA version of our kernels; 0: built without
  int min_capability = 0;  ///< compute capability that our kernels need
  int driver = 0;          ///< newest CUDA version that the driver supports; 0: no driver
  std::string failure;     ///< the CUDA run-time library's own words if it lists no GPU
  std::vector<Gpu> gpus;
};

/// What torch has for GPUs: its CUDA libraries, which are loaded when they are first asked for.
struct TorchCuda {
  std::string directory;  ///< where torch's libraries lie
  bool present = false;   ///< libtorch_cuda.so is there
  std::string failure;    ///< the loader's own words if it could not be loaded
  int runtime = 0;        ///< CUDA version of its run-time library
  int cudnn = 0;          ///< version of the cuDNN that it loaded; 0: none
  int nccl = 0;           ///< version of the NCCL that it loaded; 0: none
};

/// What a run needs beyond kernels and tensors on GPUs.
struct CudaNeeds {
  bool short_convolutions = false;  ///< of 16-bit numbers
  bool bfloat16 = false;            ///< that these are of bfloat16
  int nccl_header = 0;  ///< NCCL version that we were compiled with; 0: the run does not use NCCL
};

CudaReport cuda_report();

/// Loads torch's CUDA libraries, once. To be called before torch is first asked about CUDA, be it
/// by seeding its generator: it remembers the answer.
TorchCuda const& load_torch_cuda();

/// @return why no GPU can be used and what to do, or "".
std::string cuda_problem(CudaReport const& report);
/// @return what a GPU that is listed lacks for this build and what to do, for a list; or "".
std::string gpu_lacks(Gpu const& gpu, CudaReport const& report);
/// Whether a GPU multiplies bfloat16 numbers: from compute capability 8.0 on. Source: CUDA C++
/// Programming Guide, table of tensor cores' types.
bool has_bfloat16(Gpu const& gpu);
/// @return why torch cannot use the GPUs that the report lists and what to do, or "".
std::string torch_cuda_problem(TorchCuda const& torch, CudaReport const& report,
                               CudaNeeds const& needs);

/// @throws Error with the first problem of the above, and unless `torch` of this process is usable.
void require_cuda(CudaNeeds const& needs = {});

/// "13.0" for 13000.
std::string cuda_version_text(int version);
/// "9.19.0" for 91900; of cuDNN 9 and NCCL.
std::string library_version_text(int version);

/// Where kernels are launched: work in one queue is done in order.
struct DeviceStream {
  int device = 0;
  void* stream = nullptr;  ///< a cudaStream_t
};

/// torch's current stream of a device. @throws Error of torch if its CUDA libraries are not loaded.
DeviceStream current_queue(int device);

/// Waits until all work in the queue is done. @throws Error if some of it failed.
void wait_for(DeviceStream const& queue);

/// A queue of its own beside torch's. @throws Error if there is no such device.
class SideStream {
 public:
  explicit SideStream(int device);
  ~SideStream();
  SideStream(SideStream const&) = delete;
  SideStream& operator=(SideStream const&) = delete;
  DeviceStream const& queue() const { return queue_; }

 private:
  DeviceStream queue_;
};

/// Order between queues of a device: what was in one when it was recorded is done before another
/// that waits goes on. The host waits for neither.
class StreamEvent {
 public:
  explicit StreamEvent(DeviceStream const& recorded);
  ~StreamEvent();
  StreamEvent(StreamEvent const&) = delete;
  StreamEvent& operator=(StreamEvent const&) = delete;
  void hold(DeviceStream const& waiting) const;

 private:
  void* event_ = nullptr;  ///< a cudaEvent_t
};

/// @throws Error with the CUDA run-time library's own words unless `status`, a cudaError_t, is
/// success.
void require_cuda_success(char const* what, int status);

}  // namespace voxcycle
