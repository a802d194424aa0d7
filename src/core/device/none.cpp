// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device.hpp"
#include "voxcycle/core/error.hpp"

namespace voxcycle {

CudaReport cuda_report() {
  return {};
}

void wait_for(DeviceQueue const& /*queue*/) {
  require_cuda_success("GPU", 1);
}

SideQueue::SideQueue(int /*device*/) {
  require_cuda_success("GPU", 1);
}
SideQueue::~SideQueue() = default;

QueueMark::QueueMark(DeviceQueue const& /*recorded*/) {
  require_cuda_success("GPU", 1);
}
QueueMark::~QueueMark() = default;
void QueueMark::hold(DeviceQueue const& /*waiting*/) const {}

void require_cuda_success(char const* what, int /*status*/) {
  throw Error(std::string(what) + ": " + cuda_problem({}));
}

}  // namespace voxcycle
