// SPDX-License-Identifier: BSD-3-Clause
// torch's CUDA libraries, loaded by name: a program linked with them would not start where they or
// one of theirs are missing.
#include "voxcycle/core/device.hpp"

#include <filesystem>

#include <ATen/ATen.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>
#include <link.h>

namespace voxcycle {
namespace {

/// The directory of the libtorch_cpu.so that this process has loaded; empty if none. A function's
/// address would not tell: in a program that is not position-independent it is the program's own.
std::filesystem::path torch_directory() {
  link_map* loaded = nullptr;
  void* const library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr || dlinfo(library, RTLD_DI_LINKMAP, &loaded) != 0) return {};
  return std::filesystem::weakly_canonical(loaded->l_name).parent_path();
}

int nccl_version() {
  int version = 0;
  auto* const ask = reinterpret_cast<int (*)(int*)>(dlsym(RTLD_DEFAULT, "ncclGetVersion"));
  if (ask != nullptr) ask(&version);
  return version;
}

TorchCuda load() {
  TorchCuda result;
  auto const directory = torch_directory();
  auto const library = directory / "libtorch_cuda.so";
  result.directory = directory.string();
  result.present = std::filesystem::exists(library);
  if (!result.present) return result;
  // Its constructors register kernels, allocator and streams with torch; it stays loaded.
  if (dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    result.failure = dlerror();
    return result;
  }
  auto const& hooks = at::detail::getCUDAHooks();
  if (!hooks.hasCUDART()) {
    result.failure = "torch was asked about CUDA before they were loaded";
    return result;
  }
  result.runtime = static_cast<int>(hooks.versionCUDART());
  result.cudnn = hooks.compiledWithCuDNN() ? static_cast<int>(hooks.versionRuntimeCuDNN()) : 0;
  result.nccl = nccl_version();
  return result;
}

}  // namespace

TorchCuda const& load_torch_cuda() {
  static TorchCuda const result = load();
  return result;
}

DeviceStream current_queue(int device) {
  c10::Device const gpu(c10::kCUDA, static_cast<c10::DeviceIndex>(device));
  return {device, c10::impl::VirtualGuardImpl(c10::kCUDA).getStream(gpu).native_handle()};
}

}  // namespace voxcycle
