// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device.hpp"

#include "voxcycle/core/error.hpp"
#include "voxcycle/core/text.hpp"

namespace voxcycle {
namespace {

// Below this torch keeps 16-bit convolutions in 3D away from cuDNN and falls back to ones that
// are slower and take several times the memory (PyTorch issue 166643).
constexpr int min_cudnn = 91500;

/// The oldest driver for a major version of CUDA; source: CUDA release notes, table of drivers.
std::string driver_for(int cuda) {
  switch (cuda / 1000) {
    case 12:
      return "525";
    case 13:
      return "580";
    default:
      return "one for CUDA " + cuda_version_text(cuda);
  }
}

bool same_minor(int a, int b) {
  return a / 100 == b / 100;
}

std::string capability_text(int capability) {
  return format("compute capability %d.%d", capability / 10, capability % 10);
}

}  // namespace

std::string cuda_version_text(int version) {
  return format("%d.%d", version / 1000, version % 1000 / 10);
}

std::string library_version_text(int version) {
  return format("%d.%d.%d", version / 10000, version / 100 % 100, version % 100);
}

std::string cuda_problem(CudaReport const& report) {
  if (report.compiled == 0) {
    return "built without CUDA (GPUs cannot be used). Install the CUDA toolkit, then configure "
           "again "
           "with -DVOXCYCLE_CUDA=ON.";
  }
  std::string const needed = driver_for(report.compiled);
  if (report.driver == 0) {
    return "no NVIDIA driver (GPUs cannot be used). Install driver " + needed +
           " or newer; start a container with access to the GPUs.";
  }
  if (report.driver / 1000 < report.compiled / 1000) {
    return "the NVIDIA driver supports CUDA " + cuda_version_text(report.driver) +
           ", the kernels were compiled with " + cuda_version_text(report.compiled) +
           " (it cannot load them). Install driver " + needed +
           " or newer, or build with an older CUDA toolkit.";
  }
  if (report.gpus.empty()) {
    return "the NVIDIA driver lists no GPU (" +
           (report.failure.empty() ? std::string("none is visible") : report.failure) +
           "). Look at nvidia-smi and at CUDA_VISIBLE_DEVICES.";
  }
  for (auto const& gpu : report.gpus) {
    if (gpu.capability < report.min_capability) {
      return gpu.name + " has " + capability_text(gpu.capability) + ", the kernels need " +
             format("%d.%d", report.min_capability / 10, report.min_capability % 10) +
             format(
                 " (it cannot load them). Hide it with CUDA_VISIBLE_DEVICES, or configure with "
                 "-DVOXCYCLE_CUDA_ARCHITECTURES=%d.",
                 gpu.capability);
    }
  }
  return "";
}

bool has_bfloat16(Gpu const& gpu) {
  return gpu.capability >= 80;
}

std::string gpu_lacks(Gpu const& gpu, CudaReport const& report) {
  if (gpu.capability < report.min_capability) return "this build has no kernels for it";
  return has_bfloat16(gpu) ? "" : "no bf16 tensor cores, use train.precision = f16";
}

std::string torch_cuda_problem(TorchCuda const& torch, CudaReport const& report,
                               CudaNeeds const& needs) {
  if (!torch.present) {
    return "torch in " + torch.directory +
           " is a CPU build (without libtorch_cuda.so no tensor can be on a GPU). Install torch "
           "2.11.0 built for CUDA " +
           cuda_version_text(report.compiled) + ", for instance with ./dev setup --cuda.";
  }
  if (!torch.failure.empty()) {
    return "torch's CUDA libraries cannot be loaded (" + torch.failure +
           "). ./dev setup --cuda installs all of them; elsewhere install torch with its "
           "dependencies.";
  }
  if (report.driver / 1000 < torch.runtime / 1000) {
    return "torch was built for CUDA " + cuda_version_text(torch.runtime) +
           ", the NVIDIA driver supports " + cuda_version_text(report.driver) +
           " (it cannot run torch's kernels). Install driver " + driver_for(torch.runtime) +
           " or newer, or a torch 2.11.0 for an older CUDA.";
  }
  if (needs.short_convolutions && torch.cudnn < min_cudnn) {
    std::string const found =
        torch.cudnn == 0 ? std::string("no cuDNN") : "cuDNN " + library_version_text(torch.cudnn);
    return "torch loaded " + found + " (16-bit convolutions in 3D need " +
           library_version_text(min_cudnn) +
           " or newer to be fast and to fit in memory). Install nvidia-cudnn-cu" +
           std::to_string(torch.runtime / 1000) +
           ">=9.15, or compute in float32: --train.precision f32, of solve --precision f32.";
  }
  for (auto const& gpu : report.gpus) {
    if (!needs.bfloat16 || has_bfloat16(gpu)) continue;
    return gpu.name + " has " + capability_text(gpu.capability) +
           " (no bf16 tensor cores). Set train.precision = f16, of solve and evaluate --precision "
           "f16, or hide it with CUDA_VISIBLE_DEVICES.";
  }
  if (needs.nccl_header != 0 && torch.nccl == 0) {
    return "torch loaded no NCCL (processes cannot exchange what is on GPUs). ./dev setup --cuda "
           "installs it.";
  }
  if (needs.nccl_header != 0 && !same_minor(needs.nccl_header, torch.nccl)) {
    return "compiled with NCCL " + library_version_text(needs.nccl_header) + ", torch loaded " +
           library_version_text(torch.nccl) +
           " (calls may have another meaning there). Build with the header of the loaded version, "
           "or keep other libnccl.so out of LD_LIBRARY_PATH.";
  }
  return "";
}

void require_cuda(CudaNeeds const& needs) {
  CudaReport const report = cuda_report();
  std::string problem = cuda_problem(report);
  if (problem.empty()) problem = torch_cuda_problem(load_torch_cuda(), report, needs);
  VOXCYCLE_REQUIRE(problem.empty(), "GPU: " << problem);
}

}  // namespace voxcycle
