// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "voxcycle/comm/communicator.hpp"
#include "voxcycle/core/device.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace voxcycle {

/// Which GPU a process gets, and who shares it.
struct GpuShare {
  int device = 0;     ///< its number
  int processes = 1;  ///< of this machine that work on it
};
/// Processes that see the same GPUs go round them in the order of their ranks: the last of 6 on 4
/// GPUs gets GPU 1, which it shares with the second. Launchers may also show each process a GPU of
/// its own, which is then its GPU 0.
/// @param seen  which GPUs each rank sees, the same text for the same ones
/// @param gpus  how many `rank` sees, > 0
GpuShare gpu_share(std::vector<std::string> const& seen, int rank, int gpus);

/// Where to compute, and what for.
struct DeviceOptions {
  enum class Kind { cpu, cuda, automatic };  ///< automatic: cuda where a GPU can be used
  Kind kind = Kind::cpu;
  at::ScalarType dtype = at::kBFloat16;  ///< of convolutions
  bool channels_last = true;             ///< layout of tensors; GPUs know no other
  bool reproducible = true;  ///< the same bits every time, see use_reproducible_convolutions

  bool operator==(DeviceOptions const&) const = default;
};

/// On GPUs: algorithms that give the same bits every time, or the fastest of all.
void use_reproducible_convolutions(bool reproducible);

/// Where a program computes, and what connects its processes there: the
/// launcher's communicator, or NCCL beside it where every process has a GPU of its own.
class DeviceChoice {
 public:
  /// Also settles what torch does there: no TF32 and, if options.reproducible, algorithms that give
  /// the same bits every time.
  /// @throws Error on all ranks if a GPU is asked for that cannot be used by one of them.
  /// **Collective**.
  DeviceChoice(DeviceOptions const& options, Communicator const& host);
  ~DeviceChoice();
  DeviceChoice(DeviceChoice const&) = delete;
  DeviceChoice& operator=(DeviceChoice const&) = delete;

  at::Device device() const { return device_; }
  /// What connects the processes there. **Collective** the first time: commands that exchange
  /// nothing between GPUs need not wait for NCCL.
  Communicator const& comm();
  /// Whether GPUs exchange by way of the host's memory.
  bool through_host() const { return device_.is_cuda() && !by_nccl_; }
  /// Memory of the GPU for this process alone, bytes; 0 on a CPU.
  std::int64_t memory() const { return memory_; }
  /// For people, e.g. "GPU 0 (NVIDIA H100)" or "the CPU".
  std::string const& name() const { return name_; }

 private:
  void use_gpu(DeviceOptions const& options, CudaReport const& report, GpuShare const& share);

  Communicator const& host_;
  bool by_nccl_ = false;  ///< every process has a GPU of its own
  std::unique_ptr<Communicator> nccl_;
  Communicator const* comm_ = nullptr;  ///< once comm() was called
  at::Device device_ = at::kCPU;
  std::int64_t memory_ = 0;
  std::string name_ = "the CPU";
};

}  // namespace voxcycle
