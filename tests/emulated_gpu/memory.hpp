// SPDX-License-Identifier: BSD-3-Clause
// GPUs played by the CPU, so that what the program does with GPUs can be run and tested where there
// is none: tensors with device cuda:N, kernels as block programs, streams and events, NCCL. Linked
// in front of the modules it takes the place of the CUDA run-time library, of torch's CUDA
// libraries and of the compiled kernels, and of nothing else.
//
// It is strict where a GPU is lenient or silent: the host's first touch of GPU memory ends the
// process, fresh and freed memory holds NaNs, an operation on tensors of two devices fails, work in
// side streams is put off until something waits for it. It says nothing of speed, of cuDNN's
// rounding or of races within a stream.
//
//   VOXCYCLE_EMULATED_GPUS         how many there are (default 1)
//   VOXCYCLE_EMULATED_GPU_PER_TASK if set, Open MPI's local rank sees the GPU of its number alone
//   VOXCYCLE_EMULATED_GPU_MEMORY   MiB of each (default 16384)
//   VOXCYCLE_EMULATED_GPU_FREE     MiB of it that other programs leave (default: all)
//   VOXCYCLE_EMULATED_GPU_CAPABILITY  compute capability, 75 for 7.5 (default 90)
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace voxcycle::emulated_gpu {

int device_count();

/// The calling thread's current GPU.
int current_device();
void set_current_device(int device);

/// The machine's number of GPU `device`, which differs where processes see some GPUs alone.
int machine_number(int device);

/// 75 for 7.5.
int capability();

/// Of each GPU, in bytes.
std::int64_t memory_of_gpu();

/// The GPU whose memory holds the address, or -1: the host's.
int device_of(void const* address);

/// Where kernels see GPU memory. Addresses of GPU memory, those that tensors have, cannot be read
/// or written. @throws c10::Error if the address is not in memory of this GPU.
void* kernel_view(int device, void const* address);

/// Frees what the allocator gave out.
void free_memory_at(void* address);

/// How often the host has waited for a GPU so far: where it asked for values, or brought some and
/// did not say that it need not wait.
std::int64_t host_waits();
void count_host_wait();

/// How often each operator and kernel has been launched so far, copies included. torch's own lists
/// of tensors ("foreach") count once a tensor; a real GPU launches some at a time.
std::map<std::string, std::int64_t> launches();
void count_launch(std::string const& name);

}  // namespace voxcycle::emulated_gpu
