// SPDX-License-Identifier: BSD-3-Clause
// voxcycle info: versions of everything linked, devices, threads, processes.
#include "voxcycle/cli/command.hpp"
#include "voxcycle/comm/nccl.hpp"
#include "voxcycle/comm/threads.hpp"
#include "voxcycle/config/options.hpp"
#include "voxcycle/core/build_info.hpp"
#include "voxcycle/core/device.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/printable.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/io/versions.hpp"
#include "voxcycle/solver/versions.hpp"

#include <cstdio>

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <boost/version.hpp>
#include <torch/version.h>

namespace voxcycle {
namespace {

/// The line of torch's configuration that names oneDNN.
std::string onednn_version() {
  std::string const text = at::show_config();
  auto const begin = text.find("MKL-DNN v");
  if (begin == std::string::npos) return "absent";
  return text.substr(begin + 8, text.find(' ', begin + 9) - begin - 8);
}

void line(std::string const& name, std::string const& value) {
  print("%-12s %s\n", name.c_str(), value.c_str());
}

std::string version_or_none(int version, std::string (*text)(int)) {
  return version == 0 ? "none" : text(version);
}

/// GPUs, drivers and libraries, or what keeps them from being used.
void show_gpus() {
  CudaReport const report = cuda_report();
  int const nccl = nccl_header_version();
  line("devices", report.gpus.empty() ? "CPU" : format("CPU, %zu GPU", report.gpus.size()));
  line("CUDA", "kernels " + version_or_none(report.compiled, cuda_version_text) + ", driver " +
                   version_or_none(report.driver, cuda_version_text) + ", NCCL header " +
                   version_or_none(nccl, library_version_text));
  for (std::size_t i = 0; i < report.gpus.size(); ++i) {
    auto const& gpu = report.gpus[i];
    auto const lacks = gpu_lacks(gpu, report);
    line(format("GPU %zu", i), format("%s, %s, compute capability %d.%d", gpu.name.c_str(),
                                      format_bytes(static_cast<double>(gpu.memory)).c_str(),
                                      gpu.capability / 10, gpu.capability % 10) +
                                   (lacks.empty() ? "" : ": " + lacks));
  }
  std::string problem = cuda_problem(report);
  if (problem.empty()) {
    TorchCuda const& torch = load_torch_cuda();
    line("torch CUDA", version_or_none(torch.runtime, cuda_version_text) + ", cuDNN " +
                           version_or_none(torch.cudnn, library_version_text) + ", NCCL " +
                           version_or_none(torch.nccl, library_version_text));
    problem = torch_cuda_problem(torch, report, {.short_convolutions = true});
    if (problem.empty() && nccl != 0) {
      auto const between = torch_cuda_problem(torch, report, {.nccl_header = nccl});
      line("NCCL use", between.empty() ? "ready" : between);
    }
  }
  line("GPU use", problem.empty() ? "ready" : problem);
}

int info(Invocation const& call) {
  if (call.comm.rank() != 0) return 0;
  line("voxcycle", std::string(build_info::version) + " (commit " + build_info::commit + ")");
  line("compiler", build_info::compiler);
  line("torch", TORCH_VERSION);
  show_gpus();  // before torch is asked about its configuration
  line("oneDNN", onednn_version());
  line("instructions", at::get_cpu_capability());
  line("MPI", mpi_version());
  line("HDF5", hdf5_version());
  line("libpng", png_version());
  line("libtiff", tiff_version());
  line("zlib", zlib_library_version());
  line("FFTW", fftw_library_version());
  line("Boost",
       format("%d.%d.%d", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100));
  line("spdlog", log_library_version());
  line("cores", std::to_string(cores()));
  line("threads", std::to_string(at::get_num_threads()) + " a process");
  line("processes", std::to_string(call.comm.size()) + ", " + call.comm.transport());
  return 0;
}

}  // namespace

Command info_command() {
  return {"info", "versions of everything linked, devices, threads, MPI", {}, info};
}

}  // namespace voxcycle
