// SPDX-License-Identifier: BSD-3-Clause
#include "voxcycle/core/device.hpp"
#include "voxcycle/core/error.hpp"

namespace voxcycle {

CudaReport cuda_report() {
  return {};
}

void wait_for(DeviceStream const& /*queue*/) {
  require_cuda_success("GPU", 1);
}

SideStream::SideStream(int /*device*/) {
  require_cuda_success("GPU", 1);
}
SideStream::~SideStream() = default;

StreamEvent::StreamEvent(DeviceStream const& /*recorded*/) {
  require_cuda_success("GPU", 1);
}
StreamEvent::~StreamEvent() = default;
void StreamEvent::hold(DeviceStream const& /*waiting*/) const {}

void require_cuda_success(char const* what, int /*status*/) {
  throw Error(std::string(what) + ": " + cuda_problem({}));
}

}  // namespace voxcycle
