// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/comm/device_choice.hpp"

#include "voxcycle/comm/largest.hpp"
#include "voxcycle/comm/nccl.hpp"
#include "voxcycle/core/device.hpp"
#include "voxcycle/core/error.hpp"
#include "voxcycle/core/log.hpp"
#include "voxcycle/core/text.hpp"
#include "voxcycle/core/whereabouts.hpp"

#include <algorithm>
#include <cstdlib>

#include <ATen/ATen.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace voxcycle {
namespace {

/// What require_cuda says; "" if the GPUs can be used.
std::string problem_with(CudaNeeds const& needs) {
  try {
    require_cuda(needs);
  } catch (Error const& error) {
    return error.what();
  }
  return {};
}

std::string join_uuids(CudaReport const& report) {
  std::vector<std::string> all;
  for (auto const& gpu : report.gpus) all.push_back(gpu.uuid);
  return join(all);
}

}  // namespace

GpuShare gpu_share(std::vector<std::string> const& seen, int rank, int gpus) {
  auto const& mine = seen[static_cast<std::size_t>(rank)];
  auto const before = static_cast<int>(std::count(seen.begin(), seen.begin() + rank, mine));
  auto const all = static_cast<int>(std::count(seen.begin(), seen.end(), mine));
  int const device = before % gpus;
  return {device, (all - device + gpus - 1) / gpus};
}

DeviceChoice::DeviceChoice(DeviceOptions const& options, Communicator const& host) : host_(host) {
  using Kind = DeviceOptions::Kind;
  if (options.kind == Kind::cpu) return;
  auto const report = cuda_report();
  auto const seen = host.all_gather_text(join_uuids(report));
  auto const gpus = static_cast<int>(report.gpus.size());
  GpuShare const share = gpus > 0 ? gpu_share(seen, host.rank(), gpus) : GpuShare{};
  int const header = nccl_header_version();
  bool const alone = largest_of(host, share.processes) == 1;
  bool const by_nccl = host.size() > 1 && alone && header != 0;
  auto const problem = problem_with({.short_convolutions = c10::elementSize(options.dtype) == 2,
                                     .bfloat16 = options.dtype == at::kBFloat16,
                                     .nccl_header = by_nccl ? header : 0});
  if (options.kind == Kind::automatic && largest_of(host, problem.empty() ? 0 : 1) == 1) {
    if (!problem.empty()) log_info("computing on the CPU. " + problem);
    return;
  }
  host.agree_on_error(problem);
  use_gpu(options, report, share);
  by_nccl_ = by_nccl;
}

DeviceChoice::~DeviceChoice() = default;

Communicator const& DeviceChoice::comm() {
  if (comm_ != nullptr) return *comm_;
  if (by_nccl_) nccl_ = make_nccl_communicator(host_, device_.index());
  if (device_.is_cuda() && host_.size() > 1 && !by_nccl_ && host_.rank() == 0) {
    log_warning(
        nccl_header_version() == 0
            ? "built without NCCL: sums go through the host's memory, which is slow. ./dev setup "
              "--cuda and ./dev build bring it."
            : "several processes share a GPU: their sums go through the host's memory, which is "
              "slow. Start one process per GPU.");
  }
  comm_ = nccl_ ? nccl_.get() : &host_;
  return *comm_;
}

void DeviceChoice::use_gpu(DeviceOptions const& options, CudaReport const& report,
                           GpuShare const& share) {
  VOXCYCLE_REQUIRE(options.channels_last,
                   "train.layout = default is not for GPUs (our kernels there know channels-last "
                   "tensors alone). Leave it out, or set run.device = cpu.");
  auto const& gpu = report.gpus.at(static_cast<std::size_t>(share.device));
  // Of the activations of large grids, blocks of fixed size waste a tenth. A user's word counts.
  if (std::getenv("PYTORCH_ALLOC_CONF") == nullptr) {
    setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", /*overwrite=*/0);
  }
  device_ = at::Device(at::kCUDA, static_cast<at::DeviceIndex>(share.device));
  // Else whatever does not name a device would hold some of GPU 0 in every process.
  c10::impl::getDeviceGuardImpl(at::kCUDA)->setDevice(device_);
  note_gpu();
  memory_ = gpu.memory / share.processes;
  name_ = format("GPU %d (%s)", share.device, gpu.name.c_str());
  at::globalContext().setAllowTF32CuDNN(false);
  at::globalContext().setAllowTF32CuBLAS(false);
  use_reproducible_convolutions(options.reproducible);
}

void use_reproducible_convolutions(bool reproducible) {
  at::globalContext().setDeterministicCuDNN(reproducible);
  at::globalContext().setBenchmarkCuDNN(!reproducible);
}

}  // namespace voxcycle
