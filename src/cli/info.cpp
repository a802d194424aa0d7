// SPDX-License-Identifier: BSD-3-Clause
// voxcycle info: versions of everything linked, devices, threads, processes.
#include "voxcycle/cli/build_info.hpp"
#include "voxcycle/cli/command.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/io/versions.hpp"
#include "voxcycle/reference/versions.hpp"

#include <cstdio>
#include <thread>

#include "cli/options.hpp"
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

int info(Invocation const& call) {
  if (call.comm.rank() != 0) return 0;
  auto const line = [](char const* name, std::string const& value) {
    std::printf("%-12s %s\n", name, value.c_str());
  };
  line("voxcycle", std::string(build_info::version) + " (commit " + build_info::commit + ")");
  line("compiler", build_info::compiler);
  line("torch", TORCH_VERSION);
  line("oneDNN", onednn_version());
  line("instructions", at::get_cpu_capability());
  line("devices", "CPU");
  line("MPI", mpi_version());
  line("HDF5", hdf5_version());
  line("libpng", png_version());
  line("zlib", zlib_library_version());
  line("FFTW", fftw_library_version());
  line("Boost",
       format("%d.%d.%d", BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100));
  line("spdlog", log_library_version());
  line("cores", std::to_string(std::thread::hardware_concurrency()));
  line("threads", std::to_string(at::get_num_threads()) + " a process");
  line("processes", std::to_string(call.comm.size()) + ", " + call.comm.transport());
  return 0;
}

}  // namespace

Command info_command() {
  return {"info", "versions of everything linked, devices, threads, MPI", {}, info};
}

}  // namespace voxcycle
